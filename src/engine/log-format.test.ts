import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, type TestContext, vi } from 'vitest'
import { handClock } from '../../test/support/clock.ts'
import { hasProgram } from '../../test/support/has-program.ts'
import { chunksOf, expectExact, expectPieces, someText } from '../../test/support/logs.ts'
import { type Random, random } from '../../test/support/random.ts'
import { openWorld, type World } from '../../test/support/world.ts'
import type { StreamTotals } from '../core/run.ts'
import { measureLog } from './log-reader.ts'
import { openOrderWriter } from './order.ts'
import { openLogWriter } from './output.ts'

// The engine's writers, the supervisor's writers (native/log.c and native/order.c, by native/tests/log-driver.c) and the page
// docs/log-format.md say the same. What a file may not become longer than is a limit of the process there, and this here.
const disk = vi.hoisted(() => ({ longest: Number.POSITIVE_INFINITY }))

vi.mock('node:fs', async (importOriginal) => {
  const fs = await importOriginal<typeof import('node:fs')>()
  return {
    ...fs,
    writeSync(descriptor: number, bytes: Uint8Array, offset: number, length?: number) {
      const room = disk.longest - fs.fstatSync(descriptor).size
      if (room <= 0) throw Object.assign(new Error('file too large'), { code: 'EFBIG' })
      return fs.writeSync(descriptor, bytes, offset, Math.min(length ?? bytes.length - offset, room))
    },
  }
})

interface Write {
  /** As text, or base64, so many times in one write, and so many such writes. */
  readonly text?: string
  readonly base64?: string
  readonly times?: number
  readonly writes?: number
  /** `line N` for each of these numbers, in one write each or in one together. */
  readonly lines?: readonly [from: number, to: number]
  readonly together?: boolean
}

/** A file by its text, or by its length and hash. */
type FileVector = { readonly text: string } | { readonly bytes: number; readonly sha256: string }

interface Vectors {
  readonly logs: readonly {
    readonly name: string
    readonly maxBytes: number
    readonly writes: readonly Write[]
    readonly running: Readonly<Record<string, FileVector>>
    readonly ended: Readonly<Record<string, FileVector>>
    readonly totals: StreamTotals
    readonly recentSha256: string
  }[]
  readonly orders: readonly { readonly name: string; readonly pieces: readonly (readonly [stream: 1 | 2, bytes: number])[]; readonly base64: string | null }[]
}

const native = (...parts: string[]): string => fileURLToPath(new URL(`../../native/${parts.join('/')}`, import.meta.url))
const vectors = JSON.parse(readFileSync(native('vectors', 'logs.json'), 'utf8')) as Vectors

type Step = { readonly write: Buffer } | { readonly remove: string } | { readonly obstacle: string } | { readonly longest: number }
/** By name, a character for each byte. */
type Files = Readonly<Record<string, string>>

/** What a writer left and said, while the command ran and at the end. */
interface Written {
  readonly running: Files
  readonly totals: StreamTotals
  readonly recent: string
  readonly ended: Files
  readonly final: StreamTotals
  readonly failure: number
}

let world: World
/** The driver, and the same with sanitizers. */
let plain: string | undefined
let checked: string | undefined

beforeAll(() => {
  world = openWorld()
  if (!hasProgram('cc', "the supervisor's writers of logs")) return
  const compile = (name: string, ...flags: string[]): string => {
    const program = world.path(name)
    const sources = [native('tests', 'log-driver.c'), native('log.c'), native('order.c')]
    const strict = ['-Wall', '-Wextra', '-Wshadow', '-Wconversion', '-Werror']
    const compiled = spawnSync('cc', ['-std=c11', '-D_GNU_SOURCE', ...strict, ...flags, '-o', program, ...sources], { encoding: 'utf8' })
    expect([compiled.status, compiled.stderr]).toEqual([0, ''])
    return program
  }
  plain = compile('log-driver', '-O2')
  if (hasSanitizers()) checked = compile('log-driver-checked', '-O1', '-g', '-fsanitize=address,undefined', '-fno-sanitize-recover=all')
}, 60_000)

afterAll(() => world[Symbol.asyncDispose]())

function hasSanitizers(): boolean {
  const tried = spawnSync('cc', ['-fsanitize=address,undefined', '-x', 'c', '-', '-o', world.path('tried')], {
    input: 'int main(void) { return 0; }',
    encoding: 'utf8',
  })
  if (tried.status !== 0) console.warn(`skipped: sanitizers for the supervisor's writers of logs: ${tried.stderr.trim()}`)
  return tried.status === 0
}

function theDriver(test: TestContext): string {
  const driver = checked ?? plain
  if (!driver) test.skip('there is no C compiler here')
  return driver as string
}

/** Commands for the driver, and what is done with its answers. */
function newScript() {
  const parts: Buffer[] = []
  const asked: ((answer: string) => void)[] = []
  const say = (line: string): void => void parts.push(Buffer.from(`${line}\n`))
  return {
    say,
    write(bytes: Buffer): void {
      say(`write 0 ${bytes.length}`)
      parts.push(bytes)
    },
    ask(line: string, answered: (answer: string) => void): void {
      say(line)
      asked.push(answered)
    },
    run(driver: string): void {
      const { status, stdout, stderr } = spawnSync(driver, { input: Buffer.concat(parts), encoding: 'utf8', maxBuffer: 256 * 1024 * 1024, timeout: 60_000 })
      expect([status, stderr]).toEqual([0, ''])
      const answers = stdout.split('\n').slice(0, -1)
      expect(answers.length).toBe(asked.length)
      for (const [i, answered] of asked.entries()) answered(answers[i] as string)
    },
  }
}

type Script = ReturnType<typeof newScript>

function parseTotals(answer: string): { totals: StreamTotals; failure: number } {
  const [bytes, lines, droppedBytes, offset, missing, missingLines, markerBytes, failure] = answer.split(' ').map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  const gap = missing > 0 ? { offset, bytes: missing, lines: missingLines, markerBytes } : null
  return { totals: { bytes, lines, droppedBytes, gap }, failure }
}

const filesIn = (folder: string): Files =>
  Object.fromEntries(
    readdirSync(folder)
      .sort()
      .map((name) => [name, statSync(join(folder, name)).isFile() ? readFileSync(join(folder, name), 'latin1') : '(a folder)']),
  )

const newFolder = (name: string): string => {
  const folder = world.path(name)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  return folder
}

/** A writer of the engine, step by step. */
function writeHere(folder: string, maxBytes: number) {
  const writer = openLogWriter(join(folder, 'stdout.log'), maxBytes)
  return {
    take(step: Step): void {
      if ('write' in step) writer.write(step.write)
      else if ('remove' in step) rmSync(join(folder, step.remove))
      else if ('obstacle' in step) mkdirSync(join(folder, step.obstacle))
      else disk.longest = step.longest
    },
    finish(): Written {
      const running = filesIn(folder)
      const totals = writer.totals()
      const recent = Buffer.from(writer.recent()).toString('hex')
      const final = writer.finish()
      writer.recorded()
      disk.longest = Number.POSITIVE_INFINITY
      const failure = writer.failure()
      const numbers: Readonly<Record<string, number>> = constants.errno
      return { running, totals, recent, ended: filesIn(folder), final, failure: failure === undefined ? 0 : (numbers[failure] as number) }
    },
  }
}

/** The same steps for the driver: once left as while the command runs, once to the end. The result is there when the script has run. */
function writeThere(script: Script, folder: string, maxBytes: number, steps: readonly Step[], budget = 2 ** 40): () => Written {
  let totals: StreamTotals | undefined
  let recent = ''
  let end: ReturnType<typeof parseTotals> | undefined
  for (const kind of ['running', 'ended'] as const) {
    script.say(`folder ${newFolder(`${folder}-${kind}`)}`)
    script.say(`open 0 stdout.log ${maxBytes}`)
    for (const step of steps) {
      if ('write' in step) script.write(step.write)
      else if ('longest' in step) script.say(`limit ${step.longest}`)
      else script.say(Object.entries(step).flat().join(' '))
    }
    if (kind === 'running') {
      script.ask('totals 0', (answer) => {
        totals = parseTotals(answer).totals
      })
      script.ask('recent 0', (answer) => {
        recent = answer.slice(1)
      })
    } else {
      // Each call copies something, so that the last one surely says that it is over.
      const calls = Math.ceil(maxBytes / budget) + 2
      for (let i = 1; i <= calls; i += 1) script.ask(`join 0 ${budget}`, (answer) => i === calls && expect(answer).toBe('1'))
      script.ask('totals 0', (answer) => {
        end = parseTotals(answer)
      })
    }
    script.say('free 0')
    script.say('limit 0')
  }
  return () => {
    const { totals: final, failure } = end as NonNullable<typeof end>
    return {
      running: filesIn(world.path(`${folder}-running`)),
      totals: totals as StreamTotals,
      recent,
      ended: filesIn(world.path(`${folder}-ended`)),
      final,
      failure,
    }
  }
}

function expandWrites(writes: readonly Write[]): Buffer[] {
  return writes.flatMap(({ text = '', base64, times = 1, writes: count = 1, lines, together }) => {
    if (lines) {
      const all = Array.from({ length: lines[1] - lines[0] + 1 }, (_, i) => Buffer.from(`line ${lines[0] + i}\n`))
      return together ? [Buffer.concat(all)] : all
    }
    const once = base64 === undefined ? Buffer.from(text) : Buffer.from(base64, 'base64')
    return Array.from({ length: count }, () => Buffer.concat(Array.from({ length: times }, () => once)))
  })
}

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

function expectVector(files: Files, expected: Readonly<Record<string, FileVector>>): void {
  const found = Object.entries(files).map(([name, text]): [string, FileVector] => {
    const vector = expected[name]
    const bytes = Buffer.from(text, 'latin1')
    return [name, vector && 'text' in vector ? { text: bytes.toString() } : { bytes: bytes.length, sha256: sha256(bytes) }]
  })
  expect(Object.fromEntries(found)).toEqual(expected)
}

describe('the format of a log', () => {
  const expectWritten = (written: Written, vector: Vectors['logs'][number], stream: Buffer, folder: string): void => {
    expectVector(written.running, vector.running)
    expectVector(written.ended, vector.ended)
    expect([written.totals, written.final, written.failure]).toEqual([vector.totals, vector.totals, 0])
    expect(sha256(Buffer.from(written.recent, 'hex'))).toBe(vector.recentSha256)
    if (stream.length > 0) expectExact(stream, written.final, join(folder, 'stdout.log'))
  }

  it.each(vectors.logs)('$name', (vector) => {
    const writes = expandWrites(vector.writes)
    const stream = Buffer.concat(writes)
    const here = writeHere(newFolder('here'), vector.maxBytes)
    for (const write of writes) here.take({ write })
    expectWritten(here.finish(), vector, stream, world.path('here'))
    for (const driver of [plain, checked]) {
      if (!driver) continue
      const script = newScript()
      const steps = writes.map((write): Step => ({ write }))
      const there = writeThere(script, 'there', vector.maxBytes, steps)
      script.run(driver)
      expectWritten(there(), vector, stream, world.path('there-ended'))
    }
  })
})

describe('the format of the order of arrival', () => {
  it.each(vectors.orders)('$name', ({ pieces, base64 }) => {
    const written = (folder: string): string | null =>
      existsSync(join(folder, 'order.log')) ? readFileSync(join(folder, 'order.log')).toString('base64') : null
    const here = newFolder('here')
    const writer = openOrderWriter(join(here, 'order.log'), handClock())
    for (const [stream, bytes] of pieces) writer.add(stream === 1 ? 'stdout' : 'stderr', bytes)
    writer.finish()
    expect(written(here)).toBe(base64)
    for (const driver of [plain, checked]) {
      if (!driver) continue
      const there = newFolder('there')
      const script = newScript()
      for (const line of [`folder ${there}`, 'order order.log', ...pieces.map((piece) => `add ${piece.join(' ')}`), 'finish', 'close']) script.say(line)
      script.run(driver)
      expect(written(there)).toBe(base64)
    }
  })
})

describe('both writers', () => {
  /** What may happen to a log besides being written. */
  const fates = [
    'nothing',
    'nothing',
    'the log is removed',
    'a segment is removed',
    'the log cannot be made',
    'a segment cannot be made',
    'files may not be long',
  ] as const

  /** Writes a stream here as fate has it; the steps are what the driver has to do for the same. */
  function playHere(draw: Random, maxBytes: number, stream: Buffer, largest: number, fate: (typeof fates)[number]): { steps: Step[]; written: Written } {
    const chunks = [...chunksOf(draw, stream, largest)]
    const steps: Step[] = []
    if (fate === 'a segment cannot be made') {
      const names = new Set<string>()
      const folder = newFolder('looked-at')
      const before = writeHere(folder, maxBytes)
      for (const write of chunks) {
        before.take({ write })
        for (const name of readdirSync(folder)) names.add(name)
      }
      before.finish()
      const segments = [...names].filter((name) => /\.\d+\.\d+$/.test(name))
      if (segments.length > 0) steps.push({ obstacle: draw.pick(segments) })
    }
    if (fate === 'the log cannot be made') steps.push({ obstacle: 'stdout.log' })
    if (fate === 'files may not be long') steps.push({ longest: draw.int(1, maxBytes + 100) })
    const removedAt = draw.int(0, chunks.length - 1)
    const folder = newFolder('here')
    const here = writeHere(folder, maxBytes)
    for (const step of steps) here.take(step)
    for (const [i, write] of chunks.entries()) {
      steps.push({ write })
      here.take({ write })
      const present = readdirSync(folder).filter((name) =>
        fate === 'the log is removed' ? name === 'stdout.log' : fate === 'a segment is removed' && name !== 'stdout.log',
      )
      if (i < removedAt || present.length === 0 || steps.some((step) => 'remove' in step)) continue
      const removal = { remove: draw.pick(present) }
      steps.push(removal)
      here.take(removal)
    }
    return { steps, written: here.finish() }
  }

  it('leave the same files and say the same, whatever comes, whatever happens to their files, in slices of any size', (test) => {
    const driver = theDriver(test)
    const script = newScript()
    const expected: { label: string; stream: Buffer; fate: string; here: Written; there: () => Written; folder: string }[] = []
    for (let seed = 0; seed < 140; seed += 1) {
      const draw = random(seed)
      const fate = fates[seed % fates.length] as (typeof fates)[number]
      const maxBytes = draw.pick([40, 1_024, 1_025, 2_000, 10_007, 32_768])
      const stream = someText(draw, draw.int(1, maxBytes * draw.pick([1, 2, 6])))
      const { steps, written } = playHere(draw, maxBytes, stream, draw.pick([maxBytes / 20, maxBytes / 3, maxBytes * 2]), fate)
      const budget = draw.pick([Math.ceil(maxBytes / 30), 2 ** 40])
      const folder = `there-${seed}`
      expected.push({ label: `seed ${seed}: ${fate}`, stream, fate, here: written, there: writeThere(script, folder, maxBytes, steps, budget), folder })
    }
    script.run(driver)
    let failed = 0
    let gaps = 0
    for (const { label, stream, fate, here, there, folder } of expected) {
      const written = there()
      expect(written, label).toEqual(here)
      failed += written.failure === 0 ? 0 : 1
      gaps += written.final.gap === null ? 0 : 1
      // Of a log that became a folder, or lost a segment, the record says more than the files.
      if (fate !== 'the log cannot be made') expectExact(stream, written.final, world.path(`${folder}-ended`, 'stdout.log'))
      rmSync(world.path(`${folder}-running`), { recursive: true })
      rmSync(world.path(`${folder}-ended`), { recursive: true })
    }
    expect([failed > 30, gaps > 60], `${failed} failed, ${gaps} with a gap`).toEqual([true, true])
  })

  it('keep the same of what a small disk takes', (test) => {
    const driver = theDriver(test)
    const small = newFolder('small')
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', small], { encoding: 'utf8' })
    if (mounted.status !== 0) return test.skip(`no small disk can be mounted here: ${mounted.stderr.trim()}`)
    try {
      for (let seed = 0; seed < 12; seed += 1) {
        const draw = random(7_000 + seed)
        const maxBytes = draw.pick([60_000, 80_000, 1_000_000])
        const stream = someText(draw, draw.int(70_000, 300_000))
        const chunks = [...chunksOf(draw, stream, draw.pick([500, 5_000, 100_000]))]
        const writer = openLogWriter(join(small, 'stdout.log'), maxBytes)
        for (const chunk of chunks) writer.write(chunk)
        const final = writer.finish()
        writer.recorded()
        const here = filesIn(small)
        for (const name of readdirSync(small)) rmSync(join(small, name))
        const script = newScript()
        script.say(`folder ${small}`)
        script.say(`open 0 stdout.log ${maxBytes}`)
        for (const chunk of chunks) script.write(chunk)
        script.ask(`join 0 ${2 ** 40}`, (answer) => expect(answer).toBe('1'))
        let there: ReturnType<typeof parseTotals> | undefined
        script.ask('totals 0', (answer) => {
          there = parseTotals(answer)
        })
        script.say('free 0')
        script.run(driver)
        const failure = writer.failure()
        expect(there, `seed ${seed}`).toEqual({ totals: final, failure: failure === undefined ? 0 : constants.errno[failure as 'ENOSPC'] })
        expect(filesIn(small), `seed ${seed}`).toEqual(here)
        expectExact(stream, final, join(small, 'stdout.log'))
        for (const name of readdirSync(small)) rmSync(join(small, name))
      }
    } finally {
      spawnSync('umount', ['-l', small])
    }
  })

  it('write the same order of arrival, also past what it may take', (test) => {
    const driver = theDriver(test)
    for (let seed = 0; seed < 20; seed += 1) {
      const draw = random(seed)
      const script = newScript()
      script.say(`folder ${newFolder('there')}`)
      script.say('order order.log')
      const writer = openOrderWriter(join(newFolder('here'), 'order.log'), handClock())
      const pieces = seed === 0 ? 900_000 : draw.int(0, 3_000)
      for (let i = 0; i < pieces; i += 1) {
        const stream = seed === 0 ? 1 + (i % 2) : draw.int(1, 2)
        const bytes = seed === 0 ? 2 ** 28 + i : draw.pick([0, 1, 100, 200, 65_536, 2 ** 31, 2 ** 40 + i])
        script.say(`add ${stream} ${bytes}`)
        writer.add(stream === 1 ? 'stdout' : 'stderr', bytes)
        if (draw.int(0, 99) === 0) script.say('flush')
      }
      script.say('finish')
      script.run(driver)
      writer.finish()
      expect(filesIn(world.path('there')), `seed ${seed}`).toEqual(filesIn(world.path('here')))
    }
  })
})

describe("the supervisor's writer", () => {
  function draws(seed: number): { draw: Random; maxBytes: number; stream: Buffer; chunks: Buffer[] } {
    const draw = random(seed)
    const maxBytes = draw.pick([40, 1_024, 2_000, 10_007])
    const stream = someText(draw, draw.int(1, maxBytes * draw.pick([1, 2, 4])))
    return { draw, maxBytes, stream, chunks: [...chunksOf(draw, stream, draw.pick([maxBytes / 20, maxBytes / 3, maxBytes * 2]))] }
  }

  it('gives a listener each byte that is kept, at its offset, at any time, also while it joins', (test) => {
    const driver = theDriver(test)
    const script = newScript()
    const expectRead = (stream: Buffer, state: { totals: StreamTotals }, from: number, length: number, label: string) => (answer: string) => {
      const { bytes, droppedBytes, gap } = state.totals
      const [at, hex] = answer.split(' ') as [string, string]
      const read = Buffer.from(hex.slice(1), 'hex')
      const offset = Number(at)
      expect(read.equals(stream.subarray(offset, offset + read.length)), label).toBe(true)
      expect(droppedBytes, label).toBe(gap?.bytes ?? 0)
      // Nothing that is kept is passed over.
      const kept = gap && from >= gap.offset && from < gap.offset + gap.bytes ? gap.offset + gap.bytes : from
      expect(offset, label).toBe(kept)
      expect(read.length > 0, label).toBe(offset < bytes && length > 0)
    }
    script.say(`folder ${newFolder('there')}`)
    for (let seed = 0; seed < 60; seed += 1) {
      const { draw, maxBytes, stream, chunks } = draws(seed)
      script.say(`open 0 stdout.log ${maxBytes}`)
      let written = 0
      const state = { totals: { bytes: 0, lines: 0, droppedBytes: 0, gap: null } as StreamTotals }
      const look = (label: string): void => {
        script.ask('totals 0', (answer) => {
          state.totals = parseTotals(answer).totals
        })
        for (let i = 0; i < 4; i += 1) {
          const from = draw.int(0, written)
          const length = draw.pick([0, 1, 100, 5_000])
          script.ask(`read 0 ${from} ${length}`, expectRead(stream, state, from, length, label))
        }
      }
      for (const chunk of chunks) {
        script.write(chunk)
        written += chunk.length
        if (draw.int(0, 3) === 0) look(`seed ${seed}, after ${written} bytes`)
      }
      for (let i = 0; i < 20; i += 1) {
        script.ask(`join 0 ${Math.ceil(maxBytes / 15)}`, (answer) => i === 19 && expect(answer, `seed ${seed}`).toBe('1'))
        look(`seed ${seed}, joining`)
      }
      script.say('free 0')
    }
    script.run(driver)
  })

  it('leaves what can be read when it is killed, also while it joins and before its record is written, by old totals and by none', (test) => {
    const driver = theDriver(test)
    let gaps = 0
    for (let seed = 0; seed < 80; seed += 1) {
      const { draw, maxBytes, stream, chunks } = draws(100 + seed)
      const folder = newFolder('there')
      const script = newScript()
      script.say(`folder ${folder}`)
      script.say(`open 0 stdout.log ${maxBytes}`)
      const recordedAt = draw.int(0, chunks.length - 1)
      let recorded: StreamTotals | undefined
      for (const [i, chunk] of chunks.entries()) {
        script.write(chunk)
        if (i !== recordedAt) continue
        script.ask('totals 0', (answer) => {
          recorded = parseTotals(answer).totals
        })
      }
      const slices = draw.pick([0, 1, 5, 40])
      for (let i = 0; i < slices; i += 1) script.ask(`join 0 ${Math.ceil(maxBytes / 25)}`, () => {})
      let totals: StreamTotals | undefined
      script.ask('totals 0', (answer) => {
        totals = parseTotals(answer).totals
      })
      script.say('die')
      script.run(driver)
      const measured = measureLog(join(folder, 'stdout.log'))
      expect({ ...measured, gap: null }, `seed ${seed}`).toEqual({ ...totals, gap: null })
      expectExact(stream, measured, join(folder, 'stdout.log'))
      // Whoever knows the totals reads the same, and who knows those from before what was left behind went on printing.
      for (const known of [totals, recorded])
        expect(expectPieces(stream, known, join(folder, 'stdout.log')), `seed ${seed}`).toEqual({ missing: measured.droppedBytes, end: stream.length })
      gaps += measured.gap ? 1 : 0
    }
    expect(gaps).toBeGreaterThan(15)
  })

  it('takes what comes after it was joined, and tells it exactly', (test) => {
    const driver = theDriver(test)
    for (let seed = 0; seed < 60; seed += 1) {
      const { draw, maxBytes, stream, chunks } = draws(200 + seed)
      const folder = newFolder('there')
      const script = newScript()
      script.say(`folder ${folder}`)
      script.say(`open 0 stdout.log ${maxBytes}`)
      for (const [i, chunk] of chunks.entries()) {
        script.write(chunk)
        if (draw.int(0, chunks.length) === 0 || i === chunks.length - 1) script.ask(`join 0 ${2 ** 40}`, (answer) => expect(answer).toBe('1'))
      }
      let end: ReturnType<typeof parseTotals> | undefined
      script.ask('totals 0', (answer) => {
        end = parseTotals(answer)
      })
      script.say('free 0')
      script.run(driver)
      expect(end?.failure, `seed ${seed}`).toBe(0)
      expectExact(stream, end?.totals as StreamTotals, join(folder, 'stdout.log'))
      expect(readdirSync(folder), `seed ${seed}`).toEqual(['stdout.log'])
      expect(statSync(join(folder, 'stdout.log')).size, `seed ${seed}`).toBeLessThanOrEqual(maxBytes * 1.5 + 200)
    }
  })
})
