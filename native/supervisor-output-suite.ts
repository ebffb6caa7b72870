import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { expect } from 'vitest'
import { answers, requests } from '../src/supervisor/frames.ts'
import { everything, numberOf, open, type SupervisorProgram, sh, stopOf, testsWith, until } from '../test/support/bare-supervisor.ts'

/* What the supervisor promises of output: logs and listeners. Keys of fields are those of docs/supervisor-protocol.md. */

const tail = [18, 2] as const

export function declareOutputTests(program: SupervisorProgram): void {
  const test = testsWith(program)

  test('/dev/stdout and /dev/stderr can be opened', async (supervisor) => {
    using controller = await supervisor.connect()
    await supervisor.start(controller, 'a', sh('echo a > /dev/stdout; echo b > /dev/stderr; echo c >> /dev/stdout; echo d | tee /dev/stderr'), [everything])
    expect(await controller.ended('a')).toMatchObject({ exitCode: 0 })
    expect(controller.output('a', 1).toString()).toBe('a\nc\nd\n')
    expect(controller.output('a', 2).toString()).toBe('b\nd\n')
  })

  test('the order in which both streams came is recorded', async (supervisor) => {
    using controller = await supervisor.connect()
    await supervisor.start(controller, 'a', sh('printf 1; read x; printf 22 >&2; read x; printf 333; read x; printf 4444 >&2'), [everything, open])
    for (const length of [1, 3, 6]) {
      await until(`${length} bytes came`, () => controller.output('a', 1).length + controller.output('a', 2).length === length)
      await controller.ask(requests.input, [
        [1, 'a'],
        [2, '\n'],
      ])
    }
    await controller.ended('a')
    expect([...supervisor.file('a', 'order.log')]).toEqual([0x31, 1, 2, 3, 4])
  })

  test('a quick command that writes to both streams in turns is told in its turns', async (supervisor) => {
    using controller = await supervisor.connect()
    const rounds = 500
    await supervisor.start(controller, 'a', sh(`i=0; while [ $i -lt ${rounds} ]; do i=$((i+1)); echo $i; echo $i >&2; done`))
    await controller.ended('a')
    const lengths = Array.from({ length: rounds }, (_, i) => [`${i + 1}\n`.length, `${i + 1}\n`.length]).flat()
    const pieces = [...supervisor.file('a', 'order.log')].slice(1)
    // Two writes within a microsecond may be told in the other order; without notes of writes most pieces hold many lines.
    expect(pieces.length).toBeGreaterThan(lengths.length * 0.9)
  })

  test('the end does not run after what somebody who was left behind goes on printing', async (supervisor) => {
    using controller = await supervisor.connect()
    controller.giveBack()
    await supervisor.start(controller, 'a', sh('yes & sleep 0.1; exit 4'), [[14, 10_000_000], everything, [19, 5_000]])
    const record = await controller.ended('a')
    expect(record).toMatchObject({ exitCode: 4, leftovers: [{ name: 'yes' }] })
    expect(controller.pieces('a', 1).every(({ offset, bytes }) => offset + bytes.length <= record.stdout.bytes)).toBe(true)
    await controller.ask(requests.stop, stopOf('a'))
  })

  test('whoever listens to everything gets each byte once and in order', async (supervisor) => {
    using controller = await supervisor.connect()
    await supervisor.start(controller, 'a', sh('seq 1 50000; seq 1 20000 >&2'), [everything])
    await controller.ended('a')
    for (const stream of [1, 2] as const) {
      let next = 0
      for (const { offset, bytes } of controller.pieces('a', stream)) {
        expect(offset).toBe(next)
        expect(bytes.length).toBeLessThanOrEqual(65_536)
        next += bytes.length
      }
      expect(controller.output('a', stream).equals(supervisor.file('a', stream === 1 ? 'stdout.log' : 'stderr.log'))).toBe(true)
    }
  })

  test('nothing is sent beyond the window, and what is given back is filled from the log', async (supervisor) => {
    using controller = await supervisor.connect()
    await supervisor.start(controller, 'a', sh('seq 1 60000; read x'), [everything, [19, 10_000], open])
    await until('all is in the log', () => supervisor.file('a', 'stdout.log').length === 348_894)
    await controller.ask(requests.ping)
    expect(controller.output('a').length).toBe(10_000)
    while (controller.output('a').length < 348_894) {
      const before = controller.output('a').length
      controller.tell(requests.ack, [
        [1, 'a'],
        [2, 10_000],
      ])
      await until('more came', () => controller.output('a').length > before)
      expect(controller.output('a').length - before).toBeLessThanOrEqual(10_000)
    }
    expect(controller.output('a').equals(supervisor.file('a', 'stdout.log'))).toBe(true)
    controller.tell(requests.endInput, [[1, 'a']])
    await controller.ended('a')
  })

  test('a listener that gives back what it got has all of it before the end, also where the run was faster', async (supervisor) => {
    using controller = await supervisor.connect()
    controller.giveBack()
    await supervisor.start(controller, 'a', sh('seq 1 200000'), [everything, [19, 50_000]])
    await controller.ended('a')
    expect(controller.output('a').equals(supervisor.file('a', 'stdout.log'))).toBe(true)
  })

  test('the end does not wait for a listener that gives nothing back, nor for one that does not read', async (supervisor) => {
    using controller = await supervisor.connect()
    using deaf = await supervisor.connect()
    await supervisor.start(controller, 'a', sh('seq 1 300000; read x'), [everything, [19, 1_000], open])
    deaf.pause()
    deaf.tell(requests.watch, [[1, 'a'], everything, [19, 2 ** 40], [21, 0], [21, 0]])
    controller.tell(requests.endInput, [[1, 'a']])
    await controller.ended('a')
    expect(controller.output('a').length).toBe(1_000)
    expect(supervisor.record('a')).toMatchObject({ exitCode: 1, stdout: { lines: 300_000 } })
    deaf.resume()
    await deaf.ended('a')
  })

  test('a listener to the tail gets the newest bytes and is told what it missed by their offset', async (supervisor) => {
    using controller = await supervisor.connect()
    await supervisor.start(controller, 'a', sh('seq 1 400000; read x; seq 1 3'), [tail, [20, 100], open])
    await until('all is in the log', () => supervisor.file('a', 'stdout.log').length === 2_688_895)
    await until('the newest came', () => controller.output('a').toString().endsWith('\n400000\n'))
    const pieces = controller.pieces('a', 1)
    const log = supervisor.file('a', 'stdout.log')
    let end = 0
    let jumps = 0
    for (const { offset, bytes } of pieces) {
      expect(offset).toBeGreaterThanOrEqual(end)
      if (offset > end) jumps += 1
      end = offset + bytes.length
      expect(bytes.equals(log.subarray(offset, end))).toBe(true)
    }
    expect(end).toBe(2_688_895)
    expect(jumps).toBeGreaterThan(0)
    controller.tell(requests.input, [
      [1, 'a'],
      [2, '\n'],
    ])
    await controller.ended('a')
    expect(controller.output('a').toString().endsWith('\n1\n2\n3\n')).toBe(true)
  })

  test('whoever comes later listens from the offset that it names, or from now', async (supervisor) => {
    using controller = await supervisor.connect()
    using later = await supervisor.connect()
    using last = await supervisor.connect()
    await supervisor.start(controller, 'a', sh('printf 0123456789; printf abcdef >&2; read x; printf XYZ'), [everything, open])
    await until('all came', () => controller.output('a', 1).length + controller.output('a', 2).length === 16)
    const status = await later.ask(requests.watch, [[1, 'a'], everything, [21, 7], [21, 4]])
    expect([numberOf(status, 2), numberOf(status, 6), numberOf(status, 8), numberOf(status, 11)]).toEqual([1, 10, 6, 1])
    await last.ask(requests.watch, [[1, 'a'], everything])
    await controller.ask(requests.input, [
      [1, 'a'],
      [2, '\n'],
    ])
    expect(await later.ended('a')).toEqual(await controller.ended('a'))
    await last.ended('a')
    expect(later.pieces('a', 1)[0]?.offset).toBe(7)
    expect(later.output('a', 1).toString()).toBe('789XYZ')
    expect(later.output('a', 2).toString()).toBe('ef')
    expect(last.output('a', 1).toString()).toBe('XYZ')
    expect(last.output('a', 2).toString()).toBe('')
  })

  test('whoever listens no more is told nothing more', async (supervisor) => {
    using controller = await supervisor.connect()
    using other = await supervisor.connect()
    await supervisor.start(controller, 'a', sh('echo one; read x; echo two'), [everything, open])
    await other.ask(requests.watch, [
      [1, 'a'],
      [18, 0],
    ])
    await until('the first line came', () => controller.output('a').length > 0)
    expect((await controller.ask(requests.unwatch, [[1, 'a']])).type).toBe(answers.ok)
    await controller.ask(requests.input, [
      [1, 'a'],
      [2, '\n'],
    ])
    await other.ended('a')
    await controller.ask(requests.ping)
    expect(controller.output('a').toString()).toBe('one\n')
    expect(controller.heard.some(({ type }) => type === answers.ended)).toBe(false)
  })

  test('a log at its limit keeps head and tail and states the gap', async (supervisor) => {
    using controller = await supervisor.connect()
    await supervisor.start(controller, 'a', sh('seq 1 100000'), [[14, 10_000]])
    const { stdout } = await controller.ended('a')
    expect(stdout.bytes).toBe(588_895)
    expect(stdout.gap?.bytes).toBe(stdout.droppedBytes)
    const log = supervisor.file('a', 'stdout.log').toString()
    expect(log.startsWith('1\n2\n3\n')).toBe(true)
    expect(log).toContain('[holdfast: ')
    expect(log.endsWith('\n99999\n100000\n')).toBe(true)
  })

  test('memory does not follow the output', async (supervisor) => {
    using controller = await supervisor.connect()
    const pid = await supervisor.innerPid()
    const peak = (): number => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1])
    await supervisor.start(controller, 'small', sh('seq 1 1000'), [tail])
    await controller.ended('small')
    const before = peak()
    await supervisor.start(controller, 'large', ['/bin/dd', 'if=/dev/zero', 'bs=65536', 'count=4096', 'status=none'], [tail, [14, 8_000_000]])
    expect(await controller.ended('large')).toMatchObject({ exitCode: 0, stdout: { bytes: 268_435_456 } })
    expect(peak() - before).toBeLessThan(program.endsByItself ? 100_000 : 3_000)
  })

  test('a full disk costs the log and not the command, and the last bytes are in the record', async (supervisor) => {
    using controller = await supervisor.connect()
    const terms = supervisor.terms('a', sh('echo to nowhere; echo err >&2; exit 3'), [everything])
    rmSync(supervisor.folder('a'), { recursive: true })
    mkdirSync(supervisor.folder('a'))
    // Something is in the way of the log.
    mkdirSync(`${supervisor.folder('a')}/stdout.log`)
    await controller.ask(requests.start, terms)
    const record = await controller.ended('a')
    expect(record).toMatchObject({ exitCode: 3, failures: [{ stream: 'stdout', errno: 'EISDIR' }], stderr: { bytes: 4, droppedBytes: 0 } })
    expect(Buffer.from(record.unsaved?.stdout ?? '', 'base64').toString()).toBe('to nowhere\n')
    expect(record.stdout).toMatchObject({ bytes: 11, lines: 1, droppedBytes: 11 })
    expect(controller.output('a').toString()).toBe('to nowhere\n')
  })

  test('an end record that cannot be written is told and written later', async (supervisor) => {
    using controller = await supervisor.connect()
    const terms = supervisor.terms('a', ['/bin/true'])
    mkdirSync(`${supervisor.folder('a')}/end.json`)
    await controller.ask(requests.start, terms)
    expect(await controller.ended('a')).toMatchObject({ exitCode: 0 })
    rmSync(`${supervisor.folder('a')}/end.json`, { recursive: true })
    await until('it is written', () => supervisor.record('a')?.exitCode === 0)
  })
}
