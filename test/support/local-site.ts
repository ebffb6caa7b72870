import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Transform, type Writable } from 'node:stream'
import type { Channel, ChannelRequest, Site, SiteState } from '../../src/core/channel.ts'
import { failure } from '../../src/core/errors.ts'
import type { ExitStatus } from '../../src/core/outcome.ts'
import { identify } from '../../src/process/identity.ts'
import { endSupervisor } from './end-supervisors.ts'

export interface LocalSiteOptions {
  /** Where commands run. */
  readonly root: string
  /** A folder for all that is kept at the site; its supervisor ends with the test. */
  readonly folder: string
  readonly env?: Readonly<Record<string, string>>
  /** What a login file prints before anything else, and how long it takes. */
  readonly noise?: string
  readonly slowMs?: number
  /** Like an exec channel that cannot end the input alone. */
  readonly canEndInput?: boolean
  /** Each piece takes so long in each direction. */
  readonly latencyMs?: number
  readonly privateFolders?: readonly string[]
  /** The shell of the site. */
  readonly shell?: readonly [string, ...string[]]
}

/** A site on this machine: programs are started apart from this process and reached through pipes that can be cut and stalled. */
export interface LocalSite extends Site {
  /** Each open channel ends at once, as when a network goes away. What was started lives on, until it notices. */
  cut(): void
  /** Nothing goes either way any more until it is lifted. */
  stall(isStalled: boolean): void
  /** The same, for the channels that are open now alone and for good. */
  stallThese(): void
  /** The site is gone, as far as anybody can see. */
  vanish(why: string): void
  /** How many channels were opened. */
  readonly opened: number
  readonly channels: ReadonlySet<Channel>
  /** How many bytes were still on their way to programs when those ended by themselves. */
  readonly untaken: number
  /** Ends supervisors that were started here. */
  [Symbol.asyncDispose](): Promise<void>
}

export function openLocalSite(options: LocalSiteOptions): LocalSite {
  const { root, folder, env = {}, noise, slowMs = 0, canEndInput = true, latencyMs = 0 } = options
  const privateFolders = options.privateFolders ?? [join(folder, 'kept')]
  const title = 'a place on this machine'
  const open = new Map<Channel, { cut(): void; stall(isStalled: boolean): void }>()
  let untaken = 0
  let opened = 0
  let isStalled = false
  let gone: string | undefined

  async function start({ argv, signal }: ChannelRequest): Promise<Channel> {
    signal?.throwIfAborted()
    if (gone !== undefined) throw failure('backend_unavailable', { target: title, why: gone })
    opened += 1
    const [program, ...args] = options.shell && argv[0] === 'sh' ? [...options.shell, ...argv.slice(1)] : argv
    const child = spawn(program as string, args, { cwd: '/', detached: true, env: { PATH: process.env.PATH, HOME: folder, ...env }, stdio: 'pipe' })
    const lanes = [lane(latencyMs), lane(latencyMs), lane(latencyMs)] as const
    const [up, down, err] = lanes
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on('error', () => {})
    child.once('exit', () => {
      if (open.has(channel)) untaken += child.stdin.writableLength + up.readableLength + up.writableLength
    })
    for (const each of lanes) each.on('error', () => {})
    up.pipe(child.stdin)
    child.stderr.pipe(err)
    if (noise !== undefined) down.write(noise)
    // What nobody reads is thrown away when a child ends.
    const said = child.stdout.pipe(new PassThrough())
    if (slowMs === 0) said.pipe(down)
    else setTimeout(() => said.pipe(down), slowMs)
    let settle: { resolve: (status: ExitStatus) => void; reject: (error: Error) => void } | undefined
    const ended = new Promise<ExitStatus>((resolve, reject) => {
      settle = { resolve, reject }
    })
    ended.catch(() => {})
    const lose = (why: string): void => {
      settle?.reject(failure('contact_lost', { target: title, why }))
      child.stdin.destroy()
      child.stdout.destroy()
      child.stderr.destroy()
      for (const each of lanes) each.destroy()
      open.delete(channel)
    }
    child.once('error', (error) => lose(error.message))
    child.once('close', (code, name) => {
      open.delete(channel)
      settle?.resolve(name ? { signal: name, number: constants.signals[name] } : { exitCode: code ?? 0 })
    })
    const channel: Channel = {
      stdin: canEndInput ? up : endingAll(up, () => lose('its input was ended')),
      stdout: down,
      stderr: err,
      canEndInput,
      ended,
      close: () => lose('it was let go of'),
    }
    const stall = (on: boolean): void => {
      for (const each of lanes) each.stall(on)
    }
    if (isStalled) stall(true)
    open.set(channel, { cut: () => lose('the network went away'), stall })
    return channel
  }

  return {
    backend: 'ssh',
    handle: { backend: 'ssh', host: 'here' },
    title,
    root,
    workspace: 'own',
    privateFolders,
    open: start,
    examine: async (): Promise<SiteState> => (gone === undefined ? { kind: 'up' } : { kind: 'gone', why: gone }),
    // Several sessions share it in tests.
    async close() {},
    async destroy() {},
    cut() {
      for (const { cut } of [...open.values()]) cut()
    },
    stall(on) {
      isStalled = on
      for (const { stall } of open.values()) stall(on)
    },
    stallThese() {
      for (const { stall } of open.values()) stall(true)
    },
    vanish(why) {
      gone = why
      for (const { cut } of [...open.values()]) cut()
    },
    get untaken() {
      return untaken
    },
    get opened() {
      return opened
    },
    get channels() {
      return new Set(open.keys())
    },
    async [Symbol.asyncDispose]() {
      for (const { cut } of [...open.values()]) cut()
      for (const pid of supervisorsAt(privateFolders)) {
        const identity = identify(pid)
        if (identity) await endSupervisor(identity)
      }
    },
  }
}

/** The processes whose command line names a socket in one of these folders. */
function supervisorsAt(folders: readonly string[]): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
        return words.includes('--socket') && words.some((word) => folders.some((folder) => word.startsWith(`${folder}/`)))
      } catch {
        return false
      }
    })
}

class Lane extends Transform {
  readonly #latencyMs: number
  #isStalled = false
  #resume: (() => void) | undefined

  constructor(latencyMs: number) {
    super()
    this.#latencyMs = latencyMs
  }

  stall(on: boolean): void {
    this.#isStalled = on
    if (!on) this.#resume?.()
  }

  override _transform(piece: Buffer, _: string, done: () => void): void {
    const pass = (): void => {
      this.#resume = undefined
      // Whoever wrote it may use its memory again.
      this.push(Buffer.from(piece))
      done()
    }
    const later = (): void => {
      if (this.#isStalled) this.#resume = pass
      else pass()
    }
    if (this.#latencyMs > 0) setTimeout(later, this.#latencyMs)
    else later()
  }
}

const lane = (latencyMs: number): Lane => new Lane(latencyMs)

/** A writable whose end is the end of everything. */
function endingAll(into: PassThrough | Transform, whenEnded: () => void): Writable {
  const stream = new PassThrough()
  stream.pipe(into, { end: false })
  stream.once('finish', whenEnded)
  stream.on('error', () => {})
  return stream
}
