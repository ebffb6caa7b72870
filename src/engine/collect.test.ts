import { expect, it } from 'vitest'
import { openGitWorld } from '../../test/support/git-world.ts'
import { identify } from '../process/identity.ts'

const env = { PATH: process.env.PATH ?? '' }
const script = (text: string) => ['sh', '-c', text] as const
const bounds = { timeoutMs: 20_000, maxOutputBytes: 1024 }

it('a program of ours is run to its end, with its exit code and both streams', async () => {
  await using world = openGitWorld()
  const result = await world.runProgram({ ...bounds, argv: script('cat; echo two >&2; exit 3'), cwd: world.root, env, stdin: 'one' })
  expect([result.outcome.exitCode, Buffer.from(result.stdout).toString(), Buffer.from(result.stderr).toString(), result.truncated]).toEqual([
    3,
    'one',
    'two\n',
    false,
  ])
})

it('of more output than is wanted the beginning is kept, and it is said', async () => {
  await using world = openGitWorld()
  const result = await world.runProgram({ ...bounds, argv: script('head -c 100000 /dev/zero'), cwd: world.root, env })
  expect([result.stdout.length, result.truncated, result.outcome.exitCode]).toEqual([1024, true, 0])
})

it('what does not end in its time is ended with all that it started, and what it printed is kept', async () => {
  await using world = openGitWorld()
  const result = await world.runProgram({ ...bounds, argv: script('setsid sleep 300 & echo $!; exec sleep 300'), cwd: world.root, env, timeoutMs: 500 })
  expect(result.outcome).toMatchObject({ kind: 'timed_out', limit: 'wall' })
  const pid = Number(Buffer.from(result.stdout).toString())
  expect(pid).toBeGreaterThan(1)
  expect(identify(pid)).toBeUndefined()
})

it('a program that is not there is an error, and nothing ran', async () => {
  await using world = openGitWorld()
  await expect(world.runProgram({ ...bounds, argv: ['no-such-program'], cwd: world.root, env })).rejects.toMatchObject({
    details: { reason: 'program_missing' },
  })
})
