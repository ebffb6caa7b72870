import { randomBytes } from 'node:crypto'
import { type AddressInfo, createServer } from 'node:net'

const text = (value: Buffer | string): Buffer => {
  const bytes = Buffer.from(value)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes.length)
  return Buffer.concat([length, bytes])
}

/** A packet before any encryption: its length, that of the padding, the payload, the padding (RFC 4253, section 6). */
function packet(payload: Buffer): Buffer {
  const padding = 16 - ((5 + payload.length) % 8)
  const head = Buffer.alloc(5)
  head.writeUInt32BE(1 + payload.length + padding)
  head.writeUInt8(padding, 4)
  return Buffer.concat([head, payload, Buffer.alloc(padding)])
}

const offer = ['curve25519-sha256', 'ssh-ed25519', 'aes128-ctr', 'aes128-ctr', 'hmac-sha2-256', 'hmac-sha2-256', 'none', 'none', '', '']
const keyExchangeInit = 20
const ecdhInit = 30
const ecdhReply = 31

/** An SSH server up to the point where the client has to say whether it trusts the server's key; that is all it can do. */
export async function openSshDoor(): Promise<{ readonly port: number; close(): void }> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.write('SSH-2.0-door\r\n')
    socket.write(packet(Buffer.concat([Buffer.from([keyExchangeInit]), randomBytes(16), ...offer.map(text), Buffer.alloc(5)])))
    let received = Buffer.alloc(0)
    let greeted = false
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      if (!greeted) {
        const lineEnd = received.indexOf('\n')
        if (lineEnd === -1) return
        greeted = true
        received = received.subarray(lineEnd + 1)
      }
      while (received.length >= 6 && received.length >= 4 + received.readUInt32BE()) {
        if (received[5] === ecdhInit) socket.write(reply())
        received = received.subarray(4 + received.readUInt32BE())
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { port: (server.address() as AddressInfo).port, close: () => server.close() }
}

// The client looks at the key before it looks at the signature.
function reply(): Buffer {
  const hostKey = Buffer.concat([text('ssh-ed25519'), text(randomBytes(32))])
  const signature = Buffer.concat([text('ssh-ed25519'), text(randomBytes(64))])
  return packet(Buffer.concat([Buffer.from([ecdhReply]), text(hostKey), text(randomBytes(32)), text(signature)]))
}
