import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type BareController,
  type BareSupervisor,
  buildFrame,
  openSupervisor,
  packedProgram,
  type SupervisorProgram,
  textOf,
} from '../../test/support/bare-supervisor.ts'
import { hasProgram } from '../../test/support/has-program.ts'
import { type Random, random } from '../../test/support/random.ts'
import { openWorld } from '../../test/support/world.ts'
import { answers, frameHeaderBytes, requests } from './frames.ts'

type Hex = string | readonly (string | { readonly repeat: string; readonly times: number })[]
interface Vectors {
  readonly frames: readonly { name: string; type: number; tag: number; hex: string }[]
  readonly answers: readonly { name: string; greeted: boolean; hex: Hex; error: string; tag: number; closes: boolean }[]
}

const vectors = JSON.parse(readFileSync(new URL('../../native/vectors/frames.json', import.meta.url), 'utf8')) as Vectors
const bytesOf = (hex: Hex): Buffer =>
  Buffer.from(typeof hex === 'string' ? hex : hex.map((part) => (typeof part === 'string' ? part : part.repeat.repeat(part.times))).join(''), 'hex')

describe.runIf(hasProgram('cc', 'strange frames, sent to the supervisor'))('the supervisor', () => {
  const world = openWorld()
  const log = world.path('sanitizer')
  const program: SupervisorProgram = {
    path: `${packedProgram.path}-asan`,
    env: { ASAN_OPTIONS: `log_path=${log}:detect_stack_use_after_return=0`, UBSAN_OPTIONS: `log_path=${log}:print_stacktrace=1` },
  }
  beforeAll(() => {
    execFileSync('scripts/build-supervisor', ['--sanitize', '--required'], { cwd: new URL('../..', import.meta.url), stdio: 'pipe', timeout: 600_000 })
  }, 600_000)
  afterAll(() => world[Symbol.asyncDispose]())

  it('answers what is wrong as the vectors say, and closes only what cannot go on', async () => {
    await using supervisor = await openSupervisor(program)
    for (const { name, greeted, hex, error, tag, closes } of vectors.answers) {
      using controller = greeted ? await supervisor.connect() : await supervisor.dial()
      controller.say(bytesOf(hex))
      const said = await controller.hear(`answer to ${name}`, ({ type }) => type === answers.error)
      expect([name, said.tag, textOf(said, 1)]).toEqual([name, tag, error])
      if (closes) await controller.closed
      else
        expect(
          (
            await controller.ask(
              greeted ? requests.ping : requests.hello,
              greeted
                ? []
                : [
                    [1, 1],
                    [2, 1],
                  ],
            )
          ).type,
        ).toBe(greeted ? answers.ok : answers.welcome)
    }
  })

  it.each([1, 2, 3])(
    'ends a command well, with all its output, whatever many others send meanwhile (seed %i)',
    async (seed) => {
      await using supervisor = await openSupervisor(program)
      using controller = await supervisor.connect()
      const lines = 400
      // It goes on printing until it is told that the others are done.
      const script = `i=0; while [ $i -lt ${lines} ]; do echo "line $i of the command"; i=$((i+1)); done; read word; echo "$word"; echo over >&2; exit 7`
      await supervisor.start(
        controller,
        'watched',
        ['/bin/sh', '-c', script],
        [
          [6, 2],
          [18, 1],
        ],
      )
      const numbers = random(seed)
      const heard = new Map<string, number>()
      let sent = 0
      for (let round = 0; round < 30; round += 1) {
        const others = await Promise.all(Array.from({ length: 8 }, () => (numbers.int(0, 4) > 0 ? supervisor.connect() : supervisor.dial())))
        for (const other of others) {
          for (let i = numbers.int(1, 10); i > 0; i -= 1) {
            sent += 1
            other.say(strange(numbers, supervisor))
          }
        }
        await Promise.all(others.map((other) => settle(other, supervisor)))
        for (const other of others) {
          for (const said of other.heard) if (said.type === answers.error) heard.set(textOf(said, 1), (heard.get(textOf(said, 1)) ?? 0) + 1)
          other.close()
        }
      }
      await controller.ask(requests.input, [
        [1, 'watched'],
        [2, 'done\n'],
      ])
      const record = await controller.ended('watched')
      expect(record).toMatchObject({ exitCode: 7, signal: null, cut: null, confirmed: true })
      const expected = `${Array.from({ length: lines }, (_, i) => `line ${i} of the command\n`).join('')}done\n`
      expect(controller.output('watched').toString()).toBe(expected)
      expect(supervisor.file('watched', 'stdout.log').toString()).toBe(expected)
      expect(supervisor.file('watched', 'stderr.log').toString()).toBe('over\n')
      // Frames that reach nothing would find nothing.
      expect(sent).toBeGreaterThan(1_000)
      expect([...heard.keys()]).toEqual(expect.arrayContaining(['malformed', 'unknown_type', 'invalid', 'too_large', 'no_such_run']))
    },
    60_000,
  )

  it('did nothing wrong in all that', () => {
    const found = readdirSync(world.folder).filter((name) => name.startsWith('sanitizer'))
    expect(found.map((name) => readFileSync(join(world.folder, name), 'utf8'))).toEqual([])
  })
})

/** Until all that was sent is dealt with: it answers, or has closed, or waits for the rest of a frame that never comes. */
async function settle(other: BareController, supervisor: BareSupervisor): Promise<void> {
  using witness = await supervisor.connect()
  const done = other.hear('answer to the last', ({ tag }) => tag === lastTag).catch(() => undefined)
  other.say(buildFrame(requests.ping, [], lastTag))
  // Whoever connects later is served later.
  await Promise.race([done, other.closed, witness.ask(requests.ping).then(() => witness.ask(requests.ping))])
}

const lastTag = 0xffff_fffe
const harmless = [requests.status, requests.tree, requests.watch, requests.unwatch, requests.ack, requests.resize]

/** Something that is sent beside the run that is watched, and asks for nothing that could end that one or the supervisor. */
function strange(numbers: Random, supervisor: BareSupervisor): Buffer {
  const kind = numbers.int(0, 9)
  if (kind === 0) {
    const start = buildFrame(requests.start, supervisor.terms(`other-${numbers.int(0, 99)}`, ['/bin/true', 'argument'], [[18, numbers.int(0, 2)]]), 1)
    return changedAt(start, numbers, numbers.int(0, start.length - 1))
  }
  if (kind === 1) {
    const about = buildFrame(
      numbers.pick(harmless),
      [
        [1, 'watched'],
        [2, numbers.int(0, 9_999)],
        [18, numbers.int(0, 2)],
        [21, numbers.int(0, 99_999)],
      ],
      2,
    )
    return changedAt(about, numbers, numbers.int(frameHeaderBytes, about.length - 1))
  }
  const bytes: Buffer = Buffer.from(numbers.pick(vectors.frames).hex, 'hex')
  const at = numbers.int(0, bytes.length - 1)
  let changed = bytes
  if (kind < 5) changedAt(changed, numbers, at)
  else if (kind === 5) changedAt(changed, numbers, numbers.int(0, 3))
  else if (kind === 6) changed = bytes.subarray(0, at)
  else if (kind === 7) changed = Buffer.concat([bytes.subarray(0, at), numbers.bytes(numbers.int(1, 30)), bytes.subarray(at)])
  else if (kind === 8) changed = Buffer.from(numbers.bytes(numbers.int(0, 80)))
  // It would end a supervisor that holds no run.
  if (changed[4] === requests.quit) changed[4] = requests.ping
  return changed
}

function changedAt(bytes: Buffer, numbers: Random, at: number): Buffer {
  bytes[at] = numbers.pick([0, 1, 0x7f, 0x80, 0xff, numbers.int(0, 255)])
  return bytes
}
