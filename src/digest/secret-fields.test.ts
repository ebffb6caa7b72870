import { describe, expect, it } from 'vitest'
import { byteLength } from '../core/text.ts'
import { digestLog } from './digest.ts'
import { textSection } from './log.ts'
import { isSecretField } from './secret-fields.ts'

const secrets = ['hunter2', 'correct horse', 'tok,en', 'abcdefghijk', '90210']
const people = Array.from({ length: 60 }, (_, i) => ({ name: `user${i}`, secret: secrets[i % secrets.length] as string, city: i % 2 ? 'Ulm' : 'Bonn' }))
const quoted = (text: string): string => (/[,;"]/.test(text) ? `"${text}"` : text)
const table = (delimiter: string, column: string): string =>
  [['name', column, 'city'].join(delimiter), ...people.map(({ name, secret, city }) => [name, quoted(secret), city].join(delimiter))].join('\n')
const objects = (key: string): Record<string, unknown>[] => people.map(({ name, secret, city }) => ({ name, [key]: secret, city, admin: false }))

const digestOf = (text: string, budget: number, failed = false): string =>
  digestLog([{ name: 'stdout', sections: [textSection(text)], bytes: byteLength(text), lines: text.split('\n').length, droppedBytes: 0 }], { budget, failed })

describe('a field that is named like a secret', () => {
  it.each([
    ['a column of commas', table(',', 'password')],
    ['a column of tabs', table('\t', 'api_key')],
    ['a column of semicolons', table(';', 'Access Token')],
    ['a key of a list', JSON.stringify(objects('token'))],
    ['a key of a list over lines', JSON.stringify(objects('clientSecret'), null, 2)],
    ['a key of an object', JSON.stringify({ ok: true, db_password: 'hunter2', 'api-token': 'correct horse', people: [] }, null, 1)],
    [
      'a key of a line',
      objects('auth_token')
        .map((one) => JSON.stringify(one))
        .join('\n'),
    ],
  ])('shows nothing of %s, in its shape, its rows and whole', (_name, text) => {
    for (const budget of [300, 900, 2048, 1 << 20])
      for (const failed of [false, true]) {
        const digest = digestOf(text, budget, failed)
        for (const secret of secrets) expect(digest).not.toContain(secret)
        expect(digest).toContain('[masked]')
      }
    expect(digestOf(text, 2048)).toMatch(/\b(?:Ulm|ok)\b/)
  })

  it.each([
    ['password', true],
    ['user_token', true],
    ['X-Api-Key', true],
    ['key', false],
    ['pass', false],
    ['tokens', false],
    ['total_tokens', false],
    ['author', false],
  ])('is told by its name: %s is %s', (name, expected) => {
    expect(isSecretField(name)).toBe(expected)
  })

  it('leaves words that say whether there is one, and the headings', () => {
    const text = `name,has_password,token\n${[...people, ...people].map(({ name }, i) => `${name},${i % 2 ? 'yes' : 'no'},`).join('\n')}`
    const digest = digestOf(text, 900)
    expect(digest).toContain('has_password: "no" 60, "yes" 60')
    expect(digest).toContain('1 | name,has_password,token')
    expect(digest).not.toContain('[masked]')
  })
})
