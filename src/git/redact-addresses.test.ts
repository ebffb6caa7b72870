import { expect, it } from 'vitest'
import { redactAddresses } from './redact-addresses.ts'

it.each([
  ["fatal: unable to access 'https://user:pass@example.org/a.git/': no", "fatal: unable to access 'https://***@example.org/a.git/': no"],
  ['https://ghp_token@example.org/a', 'https://***@example.org/a'],
  ['HTTPS://a:b%40c@d:e@host/x', 'HTTPS://***@host/x'],
  ['ssh://git:pw@example.org/a and ssh://git@example.org/a', 'ssh://git:***@example.org/a and ssh://git@example.org/a'],
  ['https://example.org/a?private_token=abc&x=1', 'https://example.org/a?private_token=***&x=1'],
  ['http.extraheader=AUTHORIZATION: basic abc==', 'http.extraheader=AUTHORIZATION: ***'],
])('%s', (text, shown) => {
  expect(redactAddresses(text)).toBe(shown)
})

it('leaves alone what is no secret', () => {
  for (const text of [
    'git@example.org:a/b.git',
    'https://example.org/a@b',
    'refs/heads/a@{1}',
    "couldn't find remote ref refs/heads/token",
    'a https://x.org b@c',
  ]) {
    expect(redactAddresses(text)).toBe(text)
  }
})
