import { existsSync, readFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { expect, it, vi } from 'vitest'
import { openWorld } from '../../test/support/world.ts'
import { startInBackground } from './background.ts'

const path = process.env.PATH ?? ''

it('a program in the background has a session of its own, nothing of the environment, and the lowest priority', async () => {
  await using world = openWorld()
  const file = world.path('said')
  startInBackground(
    ['sh', '-c', 'while [ ! -e "$1.go" ]; do sleep 0.05; done; { cat /proc/$$/stat; nice; env; } > "$1.new"; mv "$1.new" "$1"', 'sh', file],
    path,
  )
  startInBackground(['touch', `${file}.go`], path)
  await vi.waitFor(() => expect(existsSync(file)).toBe(true), { timeout: 10_000 })
  const [stat = '', nice = '', ...env] = readFileSync(file, 'utf8').trimEnd().split('\n')
  const [pid, , , , , session] = stat.split(' ')
  expect([session, Number(nice)]).toEqual([pid, Math.min(19, getPriority() + 19)])
  expect(
    env
      .map((line) => line.split('=')[0])
      .filter((name) => !['PWD', 'SHLVL', '_', 'OLDPWD'].includes(name as string))
      .sort(),
  ).toEqual(['LC_ALL', 'PATH'])
})

it('a program that is not there harms nobody', () => {
  expect(() => startInBackground(['no-such-program'], path)).not.toThrow()
})
