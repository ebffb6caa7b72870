import { join } from 'node:path'
import type { Confirmed, OutputChunk } from '../core/backend.ts'
import { streamNames } from '../core/command.ts'
import type { EndRecord } from '../core/end-record.ts'
import { failure, type HoldfastError, hasReason, toHoldfastError } from '../core/errors.ts'
import type { Leftover, ProcessIdentity } from '../core/run.ts'
import type { Listening, RunStatus, SupervisedRun } from '../core/supervised.ts'
import type { Run } from '../supervisor/run.ts'
import { farFolder } from './far-folder.ts'
import type { Link } from './link.ts'
import { LocalLog } from './local-log.ts'
import { MirrorOutput } from './mirror-output.ts'
import { readEndHere, settle } from './settle.ts'

export interface MirrorTerms {
  readonly id: string
  /** The folder of the run here. */
  readonly folder: string
  readonly maxOutputBytes: number
  readonly link: Link
  /** Called once, when it is followed no longer. What the site has of it is, or is not, here too; or somebody else may want to know. */
  readonly whenDone: (left: 'copied' | 'missing' | 'unasked') => void
}

/** What a run is followed with: as it goes on, or as it ended. */
export type Found = { readonly kind: 'running'; readonly run: Run } | { readonly kind: 'over'; readonly text: string } | { readonly kind: 'unknown' }

/**
 * A run at a site: its output is written into the folder here as it comes, contact that is lost is found again, and when it is over the
 * folder here has all that the one at the site had. Any number of listeners.
 */
export class Mirror {
  readonly id: string
  readonly folder: string
  readonly logs: { readonly stdout: LocalLog; readonly stderr: LocalLog }
  readonly ended: Promise<EndRecord>
  readonly #terms: MirrorTerms
  readonly #outputs = new Set<MirrorOutput>()
  readonly #end = { stdout: 0, stderr: 0 }
  #process: ProcessIdentity = { pid: 0, startTime: '' }
  #run: Run | undefined
  /** Resolves once contact is there again. */
  #regaining: Promise<unknown>
  #begin = (): void => {}
  #record: EndRecord | undefined
  #isReleased = false
  #wasCut = false
  #settleEnded: { resolve: (record: EndRecord) => void; reject: (error: HoldfastError) => void } | undefined

  constructor(terms: MirrorTerms) {
    this.id = terms.id
    this.folder = terms.folder
    this.#terms = terms
    const log = (name: string): LocalLog => new LocalLog(join(terms.folder, name), terms.maxOutputBytes)
    this.logs = { stdout: log('stdout.log'), stderr: log('stderr.log') }
    this.ended = new Promise((resolve, reject) => {
      this.#settleEnded = { resolve, reject }
    })
    this.#regaining = new Promise<void>((resolve) => {
      this.#begin = resolve
    })
    // Whoever waits is told; a rejection that nobody waits for is no reason to end the process.
    this.ended.catch(() => {})
  }

  get process(): ProcessIdentity {
    return this.#process
  }

  get wasCut(): boolean {
    return this.#wasCut
  }

  get record(): EndRecord | undefined {
    return this.#record
  }

  /** What there is of it here: from there on it is listened to. */
  get reached(): { stdout: number; stderr: number } {
    return { stdout: this.logs.stdout.reached, stderr: this.logs.stderr.reached }
  }

  follow(found: Exclude<Found, { kind: 'unknown' }>, again: () => Promise<Found>): void {
    if (found.kind === 'running') {
      this.#process = found.run.process
      this.#run = found.run
    }
    this.#begin()
    void this.#followAll(found, again)
      .then(
        (record) => {
          this.#record = record
          this.#settleEnded?.resolve(record)
        },
        (error: unknown) => {
          // Whoever attaches now asks the site anew, and is not handed this end again.
          this.#terms.whenDone('missing')
          this.#settleEnded?.reject(toHoldfastError(error))
        },
      )
      .finally(() => {
        for (const output of this.#outputs) output.end()
        for (const stream of streamNames) this.logs[stream].close()
      })
  }

  /** It never began, or nothing is known of it. */
  abandon(error: unknown): void {
    this.#settleEnded?.reject(toHoldfastError(error))
    this.#begin()
  }

  listen(listen: Listening, from: { stdout: number; stderr: number }): SupervisedRun {
    const output = new MirrorOutput(listen, this.logs, from)
    this.#outputs.add(output)
    // What is here already is known of a run that goes on.
    if (listen.kind === 'everything') for (const stream of streamNames) output.reach(stream, Math.max(this.#end[stream], this.logs[stream].reached))
    return new View(this, output)
  }

  release(output: MirrorOutput): void {
    output.end()
    this.#outputs.delete(output)
    if (this.#outputs.size > 0 || this.#record) return
    this.#isReleased = true
    this.#run?.release()
  }

  /** A request that may be made again where contact is lost meanwhile. */
  async ask<T>(request: (run: Run) => Promise<T>, over: (record: EndRecord) => T): Promise<T> {
    for (;;) {
      if (this.#record) return over(this.#record)
      const run = this.#run
      if (!run) {
        // It is being settled, or contact is being found.
        await Promise.race([this.#regaining, this.ended])
        if (!this.#run && !this.#record) return over(await this.ended)
        continue
      }
      try {
        return await request(run)
      } catch (error) {
        if (!hasReason(error, 'supervisor_lost') || this.#isReleased) throw error
        if (this.#run === run) await new Promise((resolve) => setImmediate(resolve))
        if (this.#run === run) throw error
      }
    }
  }

  /** Input that may have been taken is not given twice. */
  async write(bytes: Uint8Array): Promise<void> {
    if (!this.#run && !this.#record) await Promise.race([this.#regaining, this.ended.catch(() => {})])
    if (!this.#record) await this.#run?.write(bytes)
    // Whether it read to its end or was cut off is not known then.
    else if (this.#wasCut) throw failure('supervisor_lost', { why: 'input that is fed ends there' })
  }

  async #followAll(first: Found, again: () => Promise<Found>): Promise<EndRecord> {
    for (let found = first; ; ) {
      let text: string | undefined
      if (found.kind === 'running') text = await this.#followOne(found.run)
      else if (found.kind === 'over') text = found.text
      else throw failure('supervisor_lost', { why: `nothing is known of run ${this.id} at the site any more` })
      try {
        if (text !== undefined) return await this.#settle(text)
      } catch (error) {
        if (!hasReason(error, 'supervisor_lost')) throw error
      }
      const finding = again()
      this.#regaining = finding.catch(() => {})
      found = await finding
      const here = found.kind === 'unknown' ? readEndHere(this.folder, this.id) : undefined
      // Another process has fetched it all.
      if (here) return here
    }
  }

  /** The end record; undefined where contact was lost before. Rejects where nobody wants to know any more. */
  async #followOne(run: Run): Promise<string | undefined> {
    this.#run = run
    try {
      for await (const chunk of run.output) this.#take(chunk)
      await run.ended
      return run.recordText
    } catch (error) {
      if (this.#isReleased || !hasReason(error, 'supervisor_lost')) {
        this.#terms.whenDone('unasked')
        throw error
      }
      this.#wasCut = true
      return undefined
    } finally {
      this.#run = undefined
    }
  }

  #take(chunk: OutputChunk): void {
    const { stream, offset, bytes } = chunk
    this.logs[stream].write(offset, bytes)
    const end = offset + bytes.length
    if (end <= this.#end[stream]) return
    this.#end[stream] = end
    for (const output of this.#outputs) output.push(chunk)
  }

  async #settle(text: string): Promise<EndRecord> {
    const { connection } = await this.#terms.link.current()
    const far = farFolder(connection, this.id)
    for (const stream of streamNames) this.logs[stream].close()
    const { record, whole } = await settle(this.folder, this.id, text, far)
    for (const stream of streamNames) {
      const log = this.logs[stream]
      log.settle(record[stream].gap, record[stream].bytes)
      // What came while contact was lost was fetched, and nobody has heard of it.
      for (const output of this.#outputs) output.reach(stream, log.reached)
    }
    this.#terms.whenDone(whole ? 'copied' : 'missing')
    return record
  }
}

class View implements SupervisedRun {
  readonly #mirror: Mirror
  readonly #output: MirrorOutput

  constructor(mirror: Mirror, output: MirrorOutput) {
    this.#mirror = mirror
    this.#output = output
  }

  get id(): string {
    return this.#mirror.id
  }

  get process(): ProcessIdentity {
    return this.#mirror.process
  }

  get output(): AsyncIterable<OutputChunk> {
    return this.#output
  }

  get ended(): Promise<EndRecord> {
    return this.#mirror.ended
  }

  get wasCut(): boolean {
    return this.#mirror.wasCut
  }

  write(bytes: Uint8Array): Promise<void> {
    return this.#mirror.write(bytes)
  }

  endInput(): Promise<void> {
    return this.#mirror.ask(
      (run) => run.endInput(),
      () => {},
    )
  }

  resize(rows: number, columns: number): Promise<void> {
    return this.#mirror.ask(
      (run) => run.resize(rows, columns),
      () => {},
    )
  }

  signal(name: NodeJS.Signals): Promise<Confirmed> {
    return this.#mirror.ask(
      (run) => run.signal(name),
      () => ({ delivered: false }),
    )
  }

  stop(request: { readonly signal?: NodeJS.Signals | undefined; readonly graceMs?: number | undefined }): Promise<{ readonly left: number }> {
    return this.#mirror.ask(
      (run) => run.stop(request),
      () => ({ left: 0 }),
    )
  }

  tree(): Promise<readonly Leftover[]> {
    return this.#mirror.ask(
      (run) => run.tree(),
      ({ leftovers }) => leftovers.map(({ pid, name }) => ({ pid, name })),
    )
  }

  status(): Promise<RunStatus> {
    return this.#mirror.ask(
      (run) => run.status(),
      ({ durationMs, stdout, stderr }) => ({
        state: 'ended',
        elapsedMs: durationMs,
        stdout: { bytes: stdout.bytes, lines: stdout.lines },
        stderr: { bytes: stderr.bytes, lines: stderr.lines },
        silentMs: 0,
        takesInput: false,
      }),
    )
  }

  release(): void {
    this.#mirror.release(this.#output)
  }
}
