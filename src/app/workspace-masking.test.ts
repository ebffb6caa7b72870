import { expect, it } from 'vitest'
import { masked } from './workspace-masking.ts'

const mask = (text: string): string => text.replaceAll('hush', '[masked]')

it('what is only read is masked, and what programs go on with is not', () => {
  const result = {
    id: 'hush',
    path: '/hush',
    ahead: 3,
    base: { ref: 'refs/heads/hush', remoteError: 'at https://hush@example.org' },
    setup: { command: 'TOKEN=hush npm ci', run: null },
    running: [{ run: 'r', command: 'echo hush' }],
    warnings: ['hush'],
    events: [{ name: 'hush', facts: { said: 'hush', code: 1 } }],
    patch: '+hush',
  }
  expect(masked([result], mask)).toEqual([
    {
      ...result,
      base: { ref: 'refs/heads/hush', remoteError: 'at https://[masked]@example.org' },
      setup: { command: 'TOKEN=[masked] npm ci', run: null },
      running: [{ run: 'r', command: 'echo [masked]' }],
      warnings: ['[masked]'],
      events: [{ name: 'hush', facts: { said: '[masked]', code: 1 } }],
    },
  ])
})
