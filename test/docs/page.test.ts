import { describe, expect, it } from 'vitest'
import { blocksOf, isAlike, withOutputs, withoutNoise } from './page.ts'

const page = [
  '# A',
  '<!-- ends with: 3 -->',
  '```console',
  '$ a',
  'one',
  '$ b \\',
  '> c',
  '```',
  '',
  '```sh',
  'make',
  'test',
  '```',
  '<!-- not run: because of x -->',
  '```console',
  '$ d',
  'old',
  '```',
  '',
].join('\n')

describe('a page', () => {
  it('is read as commands with what they print', () => {
    expect(blocksOf(page).map(({ steps, skipped, language }) => ({ language, skipped, steps }))).toEqual([
      {
        language: 'console',
        skipped: undefined,
        steps: [
          { command: 'a', output: 'one', status: 3, line: 4 },
          { command: 'b \\\nc', output: '', status: 3, line: 6 },
        ],
      },
      { language: 'sh', skipped: undefined, steps: [{ command: 'make\ntest', output: '', status: 0, line: 11 }] },
      { language: 'console', skipped: 'because of x', steps: [{ command: 'd', output: 'old', status: 0, line: 16 }] },
    ])
  })

  it('may show digests, whose second line is no command of the page', () => {
    const shown = ['```console', '$ holdfast exec -- a', 'exit 0; 1 s; run csbxe0geb95m', '$ a', 'no output', '$ b', '```'].join('\n')
    expect(blocksOf(shown)[0]?.steps.map(({ command }) => command)).toEqual(['holdfast exec -- a', 'b'])
  })

  it('may have commands that nobody sees', () => {
    expect(blocksOf('a\n<!-- run: sleep 1 -->\nb').map(({ steps }) => steps)).toEqual([[{ command: 'sleep 1', output: '', status: 0, line: 2 }]])
  })

  it('gets what is printed really, and stays as it is otherwise', () => {
    const written = withOutputs(
      page,
      new Map([
        [4, 'uno\ndue'],
        [6, 'tre'],
        [16, 'new'],
      ]),
    )
    expect(written).toBe(page.replace('one', 'uno\ndue').replace('> c', '> c\ntre'))
    expect(withOutputs(page, new Map())).toBe(page)
  })

  it('whose fence has no end, or whose output has no command, is refused', () => {
    expect(() => blocksOf('```sh\nmake')).toThrow('the fence of line 1 has no end')
    expect(() => blocksOf('```console\nout\n```')).toThrow('line 2 stands before any command')
  })
})

it('ids, times, durations and sizes are noise, words and small numbers are none', () => {
  const seen = 'exit 1 (failed); 36.9 s; /home/ada/shop (branch main); run csbxe0geb95m, 2,846 bytes, 65 lines, 1 h 30 min'
  expect(withoutNoise(seen)).toBe('exit 1 (failed); DURATION; /home/ada/shop (branch main); run RUN, N bytes, 65 lines, DURATION')
  expect(withoutNoise('tests 6 pass 5 fail 1')).toBe('tests 6 pass 5 fail 1')
})

describe('what is printed is what a page says', () => {
  const digest = (...lines: string[]): string => ['exit 1 (failed); 2.5 s; run csbxe0geb95m', 'stdout 900 bytes, 9 lines:', ...lines, 'stderr empty'].join('\n')
  const lines = ['1 | one', '2 | two', '3 | three', '4 | four', '5 | five']

  it('also where another line of a digest found room', () => {
    expect(isAlike(digest(...lines), digest(...lines.slice(1)))).toBe(true)
    expect(isAlike(digest(...lines.slice(2)), digest(...lines))).toBe(true)
  })

  it('not where many are others, or none is there, or anything else differs', () => {
    expect(isAlike(digest(...lines), digest(...lines.slice(3)))).toBe(false)
    expect(isAlike(digest('1 | uno', '2 | due', '3 | tre'), digest(...lines))).toBe(false)
    expect(isAlike(digest(), digest('1 | one'))).toBe(false)
    expect(isAlike(digest(...lines).replace('failed', 'passed'), digest(...lines))).toBe(false)
    expect(isAlike('Nothing found.', digest())).toBe(false)
  })
})
