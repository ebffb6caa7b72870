import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { loginLine, marksOf, programLine } from './shell-line.ts'

const marks = marksOf('0a1b2c')
const words = [
  '',
  ' a  b ',
  '-n',
  '--',
  '"\'`$HOME`\'"',
  'line\nfeed\t\n',
  '\n',
  '\\',
  '*',
  '~',
  '#',
  '€🔥',
  '$(exit 3)',
  ';&|<>(){}!',
  '!!',
  '%s\\n',
  '\u001b[31m',
  '\r',
]
/** Login shells, with what makes them read a command line as sshd does. */
const shells: readonly (readonly string[])[] = [
  ['sh', '-c'],
  ['bash', '-c'],
  ['dash', '-c'],
  ['ksh', '-c'],
  ['zsh', '-c'],
  ['fish', '-c'],
  ['csh', '-c'],
  ['tcsh', '-c'],
  ['busybox', 'sh', '-c'],
]

function run(shell: readonly string[], argv: readonly string[], input = '') {
  const [program = '', ...args] = [...shell, loginLine(marks)]
  return spawnSync(program, args, { input: programLine(argv, marks) + input, encoding: 'utf8' })
}

describe('the line for login shells', () => {
  for (const shell of shells) {
    const there = spawnSync(shell[0] ?? '', [...shell.slice(1), 'exit 0']).error === undefined
    it.skipIf(!there)(`means the same in ${shell.slice(0, -1).join(' ')}`, () => {
      const { stdout, stderr } = run(shell, ['printf', '%s\\0', ...words])
      expect(stdout).toBe(`${marks.begin}${words.map((word) => `${word}\0`).join('')}`)
      expect(stderr).toBe(`${marks.begin}\u001e${marks.end} 0\u001e`)
    })
  }

  it('leaves what comes after it to the program, and tells how that ended', () => {
    const { stdout, stderr } = run(['sh', '-c'], ['sh', '-c', 'cat\nexit 255'], 'first\nsecond')
    expect(stdout).toBe(`${marks.begin}first\nsecond`)
    expect(stderr).toContain(` 255\u001e`)
  })

  it('is the same for every program but for a number, so that no text of a command stands in the list of processes', () => {
    expect(loginLine(marks)).not.toMatch(/[!\n\\]/)
    expect(loginLine(marks).match(/'/g)).toHaveLength(2)
  })

  it('runs nothing where no program is named any more', () => {
    const { stdout, stderr, status } = spawnSync('sh', ['-c', loginLine(marks)], { input: '', encoding: 'utf8' })
    expect([stdout, stderr, status === 0]).toEqual([marks.begin, marks.begin, false])
  })

  it('gives the program no variable of its own, also where one of that name was exported', () => {
    const { stdout } = spawnSync('sh', ['-c', loginLine(marks)], {
      input: programLine(['sh', '-c', 'env | grep -c holdfast_'], marks),
      encoding: 'utf8',
      env: { ...process.env, holdfast_line: 'x', holdfast_lf: 'x' },
    })
    expect(stdout).toBe(`${marks.begin}0\n`)
  })
})
