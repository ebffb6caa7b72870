import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { Holdfast, RunResult } from '../../src/index.ts'
import { caseFile, caseText, describeCases, exited, expectNothingLeft, logOf, openPlace, program, runProgram, testsInPlace } from './place.ts'

const inPlace = testsInPlace(60_000)

const run = (holdfast: Holdfast, name: string, more = {}): Promise<RunResult> =>
  holdfast.exec({ argv: [name.endsWith('.js') ? process.execPath : 'bash', caseFile(name)], ...more })

/** Everything that a model or a person gets to see of a run. */
async function shownOf(holdfast: Holdfast, result: RunResult, query: string): Promise<string> {
  const [output, hits] = await Promise.all([holdfast.output({ run: result.id, maxBytes: 10_000_000 }), holdfast.search({ query })])
  return [result.digest, output.text, ...hits.hits.map(({ text }) => text)].join('\n')
}

const megabyte = 1024 * 1024
const memoryProgram = fileURLToPath(new URL('memory-program.mjs', import.meta.url))
const library = fileURLToPath(new URL('../../dist/index.mjs', import.meta.url))

// One after the other: what is measured is the memory of one process and its time.
describeCases('C: much output', () => {
  for (const [name, status, bytes, end, maxOutputBytes] of [
    ['B021.sh', 1, 52_428_827, 'ERROR: b021-needle-at-end', 0],
    ['B021.sh', 1, 52_428_827, 'ERROR: b021-needle-at-end', 8 * megabyte],
    ['B022.sh', 0, 20_971_534, 'b022-tail-ok', 0],
    ['B022.sh', 0, 20_971_534, 'b022-tail-ok', 2 * megabyte],
  ] as const) {
    it(`${name} with ${maxOutputBytes || 'the usual'} bytes to keep costs little memory, and its end is shown and found`, async () => {
      await using place = await openPlace()
      const { world } = place
      const args = ['--expose-gc', memoryProgram, library, world.root, String(maxOutputBytes), 'bash', caseFile(name)]
      const measured = await runProgram(process.execPath, args, { cwd: world.root, env: world.env })
      const { run: result, grewBytes } = measured.json<{ run: RunResult; grewBytes: number }>()
      expect(grewBytes).toBeLessThan(64 * megabyte)
      expect(result.outcome).toEqual(exited(status))
      expect(result.stdout).toMatchObject({ bytes, droppedBytes: maxOutputBytes === 0 ? 0 : expect.any(Number) })
      if (maxOutputBytes > 0) expect(result.stdout.droppedBytes).toBeGreaterThan(bytes - 1.1 * maxOutputBytes)
      expect(result.digest).toContain(end)
      expect(result.digest).toContain(bytes.toLocaleString('en'))
      expect(Buffer.byteLength(result.digest)).toBeLessThanOrEqual(2_048)
      const { hits } = await place.holdfast.search({ query: end })
      expect(hits[0]).toMatchObject({ run: result.id, stream: 'stdout', text: end, line: result.stdout.lines })
      const around = await place.holdfast.output({ run: result.id, lines: `${hits[0]?.line}` })
      expect(around.lines.map(({ text }) => text)).toEqual([end])
      const whole = await place.holdfast.output({ run: result.id })
      expect(Buffer.byteLength(whole.text)).toBeLessThanOrEqual(32 * 1024)
    }, 60_000)
  }

  it('B021: takes less than three times as long as plain bash', async () => {
    await using place = await openPlace()
    const { world, holdfast } = place
    const plain = async (): Promise<number> => {
      const start = performance.now()
      await runProgram('bash', [caseFile('B021.sh')], { cwd: world.root, env: world.env })
      return performance.now() - start
    }
    const ratios: number[] = []
    for (let i = 0; i < 4 && Math.min(...ratios) >= 3; i += 1) ratios.push((await run(holdfast, 'B021.sh')).durationMs! / (await plain()))
    expect(Math.min(...ratios)).toBeLessThan(3)
  })
})

describeCases('C: output as it is, and as it is shown', () => {
  inPlace('B023: few long lines keep their beginning and their end', async ({ holdfast }) => {
    const result = await run(holdfast, 'B023.sh', { maxOutputBytes: 100_000 })
    expect(result.outcome).toEqual(exited(101))
    expect(result.digest.split('\n')[0]).toContain('exit 101 (failed)')
    expect(result.digest).toContain('error[E0999]: b023 build failed at src/lib.rs:7')
    const line = async (lines: string) => (await holdfast.output({ run: result.id, lines })).lines.map((found) => [found.line, found.text.slice(0, 40)])
    expect(await line('1')).toEqual([[1, 'w'.repeat(40)]])
    expect(await line('-1')).toEqual([[201, 'error[E0999]: b023 build failed at src/l']])
    expect(await line('100')).toEqual([[0, expect.stringContaining('were left out')]])
    expect(result.stdout).toMatchObject({ bytes: 200 * 4001 + 48, lines: 201 })
    expect(readFileSync(result.stdout.path).length).toBeLessThanOrEqual(110_000)
  })

  inPlace('B025: a character that is split over writes arrives whole, and no cut splits one', async ({ holdfast }) => {
    const live = { stdout: '', stderr: '' }
    const result = await run(holdfast, 'B025.js', {
      onOutput: ({ stream, text }: { stream: 'stdout' | 'stderr'; text: string }) => {
        live[stream] += text
      },
    })
    expect(result.outcome).toEqual(exited(0))
    expect(live).toEqual({ stdout: logOf(result), stderr: logOf(result, 'stderr') })
    expect(live.stdout.match(/你/g)).toHaveLength(50_000)
    for (const text of [live.stdout, live.stderr]) {
      expect(text.startsWith('€🔥é👩‍💻\n')).toBe(true)
      expect(text).not.toContain('\ufffd')
    }
    for (let budget = 1; budget < 2_100; budget += 7) expect((await holdfast.show({ run: result.id, budget })).digest).not.toContain('\ufffd')
    expect(await shownOf(holdfast, result, '你你你')).not.toContain('\ufffd')
  })

  inPlace('B026: bytes that are no UTF-8 cost nothing around them', async ({ holdfast, world, cli }) => {
    const plain = spawnSync('bash', [caseFile('B026.sh')], { cwd: world.root, env: world.env })
    const result = await run(holdfast, 'B026.sh')
    expect(result.outcome).toEqual(exited(0))
    expect(readFileSync(result.stdout.path)).toEqual(plain.stdout)
    expect(readFileSync(result.stderr.path)).toEqual(plain.stderr)
    const { text } = await holdfast.output({ run: result.id })
    expect(text).toMatch(/start \ufffd+ bad \ufffd+ over \ufffd+ sur \ufffd+ cut \ufffd+ mid\n/)
    expect(text.split('\n').slice(1).sort()).toEqual(['', expect.stringMatching(/^latin1 caf\ufffd b026-word$/), expect.stringMatching(/^tail \ufffd+$/)])
    const { hits } = await holdfast.search({ query: 'b026-word' })
    expect(hits.map(({ run: id, stream }) => [id, stream])).toContainEqual([result.id, 'stderr'])
    expect((await cli(['show', '--json', 'last'])).json()).toMatchObject({ id: result.id })
    expect((await cli(['output', '--json', 'last'])).json<{ text: string }>().text).toBe(text)
  })

  inPlace('B027: text after a NUL is shown and found', async ({ holdfast }) => {
    const result = await run(holdfast, 'B027.sh')
    expect(result.outcome).toEqual(exited(0))
    const { text } = await holdfast.output({ run: result.id, maxBytes: 100_000 })
    expect(text).toMatch(/^before\ufffdafter b027-word\n/)
    expect(text).toMatch(/last-line b027-end\n$/)
    expect(result.digest).toContain('after b027-word')
    expect(result.digest).toContain('last-line b027-end')
    for (const query of ['b027-word', 'b027-end', 'after']) {
      const { hits } = await holdfast.search({ query })
      expect(hits.some((hit) => hit.run === result.id && hit.stream === 'stdout')).toBe(true)
    }
  })

  inPlace('B027: a NUL in a command, a path or a variable is refused, and nothing is started', async ({ holdfast, cli }) => {
    const nul = 'touch made\0up'
    for (const [input, field] of [
      [{ script: nul }, 'script'],
      [{ argv: ['touch', nul] }, 'argv'],
      [{ argv: [nul] }, 'argv'],
      [{ argv: ['true'], cwd: nul }, 'cwd'],
      [{ argv: ['true'], env: { NAME: nul } }, 'NAME'],
      [{ argv: ['true'], env: { [nul]: 'x' } }, 'env'],
    ] as const) {
      const error = await holdfast.exec(input).catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ name: 'HoldfastError', code: 'invalid_argument' })
      expect(String(error)).toContain(field)
      expect(String(error)).not.toContain('\0')
    }
    const refused = await cli(['exec', '--json', '-c', '-'], { input: nul })
    expect(refused.status).toBe(125)
    expect(refused.json<{ error: unknown }>().error).toMatchObject({ code: 'invalid_argument' })
    expect((await holdfast.runs({})).total).toBe(0)
  })

  inPlace('B029: of progress frames the last one is shown, and the raw text is kept', async ({ holdfast }) => {
    const result = await run(holdfast, 'B029.sh')
    const shown = await shownOf(holdfast, result, 'Receiving objects')
    expect(result.digest.match(/Receiving objects/g)).toHaveLength(1)
    expect(result.digest).toContain('Receiving objects: 100% (5000/5000), done.')
    const { lines } = await holdfast.output({ run: result.id })
    expect(lines.map(({ stream, line, text }) => [stream, line, text])).toEqual([
      ['stderr', 1, 'Receiving objects: 100% (5000/5000), done.'],
      ['stdout', 1, 'first'],
      ['stdout', 2, 'second'],
      ['stdout', 3, 'New'],
    ])
    expect(shown).not.toContain('\r')
    expect(shown).not.toContain('textNew')
    expect(logOf(result, 'stderr').match(/\r/g)).toHaveLength(5_001)
  })

  const words = ['red', 'plain', 'link', 'colour', 'new text', 'end', 'unterminated']
  inPlace('B030: no escape sequence is shown, and the words between them stay', async ({ holdfast }) => {
    const result = await run(holdfast, 'B030.sh')
    const shown = await shownOf(holdfast, result, 'colour')
    expect(shown).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/)
    for (const word of words) {
      expect(result.digest).toContain(word)
      expect((await holdfast.search({ query: word })).hits.some((hit) => hit.run === result.id)).toBe(true)
    }
    expect(result.digest).not.toContain('textnew')
    for (const trace of [']52;', 'YjAzMA==', '[1;31m', 'window title', '8;;', 'P1$r']) expect(shown).not.toContain(trace)
    expect(logOf(result)).toContain('\u001b]52;c;YjAzMA==\u0007')
  })

  const script = spawnSync('script', ['--version']).status === 0
  if (!script) console.warn('skipped: B030 on a terminal: there is no script(1) here to make one')
  describe.skipIf(!script)('on a terminal', () => {
    for (const args of ['exec --stream -- bash B030.sh', 'exec -- bash B030.sh', 'output last', 'show last', 'search colour', 'output last --raw']) {
      inPlace(`B030: holdfast ${args} passes no clipboard or title on`, async ({ holdfast, world }) => {
        await run(holdfast, 'B030.sh')
        const command = `${process.execPath} ${program} ${args.replace('B030.sh', caseFile('B030.sh'))}`
        const { stdout } = await runProgram('script', ['-qec', command, '/dev/null'], { cwd: world.root, env: world.env })
        expect(stdout.replace(/\u001b\[[\d;]*m/g, '')).toContain('colour')
        expect(stdout).not.toMatch(/\u001b\]|\u001bP|\u009d|\u009b/)
        expect(stdout).not.toContain('YjAzMA==')
      })
    }
  })

  inPlace('B031: a command that is over in milliseconds loses nothing, 20 at once', async ({ holdfast }) => {
    for (let round = 0; round < 5; round += 1) {
      const results = await Promise.all(Array.from({ length: 20 }, () => run(holdfast, 'B031.sh')))
      for (const result of results) {
        expect([result.outcome, result.stderr.bytes, result.stdout.bytes]).toEqual([exited(1), 20_035, 0])
        expect(logOf(result, 'stderr').endsWith('e\nb031: cannot find module left-pad\n')).toBe(true)
        expect(result.digest).toContain('b031: cannot find module left-pad')
      }
    }
  })

  inPlace('B032: a silent success is a success, and says that nothing was printed', async ({ holdfast, cli }) => {
    const result = await run(holdfast, 'B032.sh')
    expect(result).toMatchObject({ outcome: exited(0), stdout: { bytes: 0, lines: 0 }, stderr: { bytes: 0 }, error: null, warnings: [] })
    expect(result.digest).toMatch(/no output|empty/)
    const shown = await cli(['exec', '--', 'true'])
    expect(shown).toMatchObject({ status: 0, stderr: '' })
    expect(shown.stdout).toMatch(/no output|empty/)
  })

  inPlace('B047: 20 commands at once in 20 directories keep apart', async ({ holdfast, world }) => {
    const ids = Array.from({ length: 20 }, (_, i) => 'x'.repeat(i + 1))
    for (const id of ids) mkdirSync(world.path('root', id))
    const results = await Promise.all(ids.map((id) => holdfast.exec({ argv: [process.execPath, caseFile('B047.js'), id], cwd: id })))
    results.forEach((result, i) => {
      const id = ids[i] as string
      const expected = Array.from({ length: 2_000 }, (_, n) => `out ${id} ${n} ${world.path('root', id)}\n`).join('')
      expect(logOf(result)).toBe(expected)
      expect(logOf(result, 'stderr')).toBe(Array.from({ length: 200 }, (_, n) => `err ${id} ${n * 10}\n`).join(''))
      expect(result.outcome).toEqual(exited(id.length % 7))
      expect(result.cwd).toBe(world.path('root', id))
      expectNothingLeft(result)
    })
  })

  inPlace('B076: quoting arrives as it was written', async ({ holdfast, world, cli }) => {
    const text = caseText('B076.cmd')
    const plain = spawnSync('bash', ['-c', text], { cwd: world.root, env: world.env })
    const results = [
      await holdfast.exec({ script: text }),
      await holdfast.exec({ argv: ['bash', '-c', text] }),
      (await cli(['exec', '--json', '-c', text])).json(),
      (await cli(['exec', '--json', '--', 'bash', '-c', text])).json(),
    ]
    for (const result of results) expect(readFileSync(result.stdout.path)).toEqual(plain.stdout)
  })
})
