import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'

/** One exec, as the server sees it. */
export interface ScriptedExec {
  readonly socket: WebSocket
  readonly url: URL
  readonly command: readonly string[]
  readonly protocol: string
  /** All input so far. */
  input(): Buffer
  inputEnded(): boolean
  say(channel: number, bytes: string | Uint8Array): void
  exit(code: number): void
}

export interface ScriptedExecServer extends AsyncDisposable {
  readonly server: URL
  readonly execs: ScriptedExec[]
}

export interface ExecScript {
  readonly protocols?: readonly string[]
  /** Refuses the handshake. */
  readonly refuse?: (request: IncomingMessage, attempt: number) => { readonly http: number; readonly body: string } | undefined
  readonly run?: (exec: ScriptedExec) => void
}

/** Speaks WebSocket to whoever execs, and says what a test makes it say: down to single frames. */
export async function openScriptedExec({ protocols = ['v5.channel.k8s.io', 'v4.channel.k8s.io'], refuse, run }: ExecScript): Promise<ScriptedExecServer> {
  const http = createServer((_, response) => response.writeHead(404).end())
  const sockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    handleProtocols: (offered) => [...offered].find((each) => protocols.includes(each)) ?? false,
  })
  const execs: ScriptedExec[] = []
  let attempts = 0
  http.on('upgrade', (request, socket, head) => {
    attempts += 1
    const no = refuse?.(request, attempts)
    if (no) {
      socket.end(
        `HTTP/1.1 ${no.http} No\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(no.body)}\r\nConnection: close\r\n\r\n${no.body}`,
      )
      return
    }
    sockets.handleUpgrade(request, socket, head, (webSocket) => {
      const url = new URL(request.url ?? '/', 'http://server')
      let input = Buffer.alloc(0)
      let ended = false
      webSocket.on('message', (data) => {
        const frame = data as Buffer
        if (frame[0] === 255) ended = true
        else input = Buffer.concat([input, frame.subarray(1)])
      })
      const say: ScriptedExec['say'] = (channel, bytes) => webSocket.send(Buffer.concat([Buffer.from([channel]), Buffer.from(bytes)]))
      const exec: ScriptedExec = {
        socket: webSocket,
        url,
        command: url.searchParams.getAll('command'),
        protocol: webSocket.protocol,
        input: () => input,
        inputEnded: () => ended,
        say,
        exit(code) {
          say(3, statusOf(code))
          webSocket.close(1000)
        },
      }
      execs.push(exec)
      // Every server begins so.
      say(1, '')
      run?.(exec)
    })
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  return {
    server: new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}`),
    execs,
    async [Symbol.asyncDispose]() {
      for (const { socket } of execs) socket.terminate()
      http.closeAllConnections()
      await new Promise((resolve) => http.close(resolve))
    },
  }
}

export function statusOf(code: number): string {
  if (code === 0) return JSON.stringify({ metadata: {}, status: 'Success' })
  return JSON.stringify({
    metadata: {},
    status: 'Failure',
    message: `command terminated with non-zero exit code: exit status ${code}`,
    reason: 'NonZeroExitCode',
    details: { causes: [{ reason: 'ExitCode', message: String(code) }] },
  })
}
