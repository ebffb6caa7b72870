import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { hasReason } from '../core/errors.ts'
import { branchRef, checkBranch } from './names.ts'

const isTaken = (name: string): boolean => {
  try {
    checkBranch(name)
    return true
  } catch (error) {
    expect(hasReason(error, 'invalid_branch')).toBe(true)
    return false
  }
}

it.each(['a', 'feature/x', 'é', 'con', 'a.b', 'a-', 'x/-y', 'a@b', 'heads/x', 'refsx', 'v1.0', '日本', 'HEAD/x', 'a{b}', "it's", '"q"', '$(x)'])(
  'takes %j',
  (name) => {
    expect(isTaken(name)).toBe(true)
  },
)

it.each([
  ...[
    '',
    '-x',
    '--detach',
    'HEAD',
    '@',
    'refs/heads/z',
    'REFS/heads/z',
    'a..b',
    'x.lock',
    'x.lock/y',
    'a\nb',
    'a\0b',
    'a\x7fb',
    'a b',
    'a~',
    'a^',
    'a:b',
    'a?',
  ],
  ...[
    'a*',
    'a[b',
    'a\\b',
    '/a',
    'a/',
    'a//b',
    '.a',
    'a/.b',
    'a.',
    'a@{b',
    'x'.repeat(201),
    `é${'é'.repeat(100)}`,
    `${'a/'.repeat(310)}a`,
    '\ud800',
    'a\u0085b',
    'a\u202eb',
  ],
])('refuses %j', (name) => {
  expect(isTaken(name)).toBe(false)
})

it('says which name and what is wrong with it', () => {
  expect(() => checkBranch('a..b')).toThrow('branch is "a..b", which holds ".." or "@{"; accepted: a name of a git branch')
})

it('agrees with git on names that chance made, but for what could be taken for something else', () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-names-'))
  const parts = [
    'a',
    'b',
    '.',
    '..',
    '/',
    '-',
    '@',
    '{',
    '@{',
    '.lock',
    'lock',
    ' ',
    '~',
    '^',
    ':',
    '?',
    '*',
    '[',
    ']',
    '\\',
    'é',
    'HEAD',
    'refs/',
    '\x01',
    '\x7f',
    '\t',
    '"',
    '日',
  ]
  // A small generator of its own, so that a failure is found again.
  let state = 12345
  const below = (limit: number): number => {
    state = (state * 1103515245 + 12345) % 2147483648
    return Math.floor((state / 2147483648) * limit)
  }
  const names = Array.from({ length: 700 }, () => Array.from({ length: 1 + below(6) }, () => parts[below(parts.length)]).join(''))
  // One shell asks git for all of them.
  const script = 'while IFS= read -r -d "" name; do if git check-ref-format "refs/heads/$name"; then printf 1; else printf 0; fi; done'
  try {
    const answers = execFileSync('bash', ['-c', script], { input: names.map((name) => `${name}\0`).join(''), cwd: folder, encoding: 'utf8', timeout: 60_000 })
    const isOurs = (name: string): boolean => /^-|^HEAD$|^@$|^refs\//.test(name)
    const disagreed = names.filter((name, index) => isTaken(name) !== (answers[index] === '1' && !isOurs(name)))
    expect(answers).toHaveLength(names.length)
    expect(answers).toMatch(/1{2}|10+1/)
    expect(disagreed).toEqual([])
  } finally {
    rmSync(folder, { recursive: true })
  }
})

it('a branch is named in full', () => {
  expect(branchRef('a/b')).toBe('refs/heads/a/b')
})
