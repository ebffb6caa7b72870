import { describe, expect, it } from 'vitest'
import { saidBy } from './note.ts'

describe('texts that say the same', () => {
  it.each([
    ['case', 'Use NPM ci', 'use npm CI'],
    ['spaces', 'use  npm   ci', ' use npm ci '],
    ['a full stop', 'use npm ci.', 'use npm ci'],
    ['quotes and emphasis', 'use `npm ci`, "always"!', 'use **npm ci** always'],
    ['a dash between words', 'npm ci – not npm install', 'npm ci, not npm install'],
    ['forms of letters', 'Zürich ﬁles', 'zurich files'],
    ['spaces beside CJK', 'テストは Redis が必要。', 'テストはRedisが必要'],
    ['wide marks', '「本物」のデータベース、必要', '本物のデータベース必要'],
  ])('differ in %s only', (_, a, b) => {
    expect(saidBy(a)).toBe(saidBy(b))
  })

  it.each([
    ['the point of a number', 'waits 1.5 s', 'waits 15 s'],
    ['a sign', 'exits with -1', 'exits with 1'],
    ['a dot in front', 'the .env is read', 'the env is read'],
    ['signs of a name', 'needs C++', 'needs C'],
    ['an option', 'run with --watch', 'run with watch'],
    ['a path', 'the root is /', 'the root is'],
    ['a symbol', 'passes = 🟢', 'passes = 🔴'],
    ['a negation', 'do use it', 'do not use it'],
    ['a wide point', '１．５', '１５'],
  ])('are told apart by %s', (_, a, b) => {
    expect(saidBy(a)).not.toBe(saidBy(b))
  })
})
