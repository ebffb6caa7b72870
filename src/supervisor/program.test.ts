import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openWorld } from '../../test/support/world.ts'
import { findSupervisor, type SupervisorSearch, supervisorFor } from './program.ts'

const name = 'holdfast-supervisor-linux-x64'

/** A folder with a program in it, and one before it that is not there. */
function place(folder: string, description: string | undefined = '{"build":"0123abcd","protocol":1}'): SupervisorSearch {
  const native = join(folder, 'native')
  mkdirSync(native)
  writeFileSync(join(native, name), '#!/bin/sh\n', { mode: 0o755 })
  if (description !== '') writeFileSync(join(native, 'supervisor.json'), description)
  return { folders: [join(folder, 'missing'), native], platform: 'linux', arch: 'x64' }
}

const why = (search: SupervisorSearch): string => {
  const found = findSupervisor(search)
  return found.kind === 'missing' ? found.why : `found ${found.path}`
}

it('the supervisor is found in the first folder that has one for this processor, with its build', async () => {
  await using world = openWorld()
  const search = place(world.root)
  expect(findSupervisor(search)).toEqual({ kind: 'found', path: join(world.root, 'native', name), build: '0123abcd' })
})

it('without a supervisor for the platform or the processor, it is said what is missing and where', async () => {
  await using world = openWorld()
  const search = place(world.root)
  expect(why({ ...search, platform: 'darwin' })).toBe('the supervisor is for Linux, and this is darwin')
  expect(why({ ...search, arch: 'riscv64' })).toBe(`there is no holdfast-supervisor-linux-riscv64 in ${join(world.root, 'native')}`)
  expect(why({ ...search, folders: [world.path('nowhere'), world.path('elsewhere')] })).toBe(`there is no ${name}`)
})

it('a file that may not be executed is no supervisor', async () => {
  await using world = openWorld()
  const search = place(world.root)
  chmodSync(join(world.root, 'native', name), 0o644)
  expect(why(search)).toContain(`${join(world.root, 'native', name)} cannot be executed: `)
  expect(why(search)).toContain('EACCES')
})

it('a folder of that name is no supervisor', async () => {
  await using world = openWorld()
  mkdirSync(join(world.root, name))
  expect(why({ folders: [world.root], platform: 'linux', arch: 'x64' })).toBe(`${join(world.root, name)} is not a file`)
})

it.each(['', '{', 'null', '{"build":7}', '{"build":"../../etc"}'])('a supervisor whose description is %j is not taken', async (description) => {
  await using world = openWorld()
  expect(why(place(world.root, description))).toBe(`${join(world.root, 'native', 'supervisor.json')} does not say which build ${name} is`)
})

it('the supervisor for another machine is found by what that calls its processor, and need not be executable here', async () => {
  await using world = openWorld()
  const { folders } = place(world.root)
  chmodSync(join(world.root, 'native', name), 0o644)
  const found = { kind: 'found', path: join(world.root, 'native', name), build: '0123abcd' }
  expect([supervisorFor('x86_64', folders), supervisorFor('amd64', folders)]).toEqual([found, found])
  expect(supervisorFor('aarch64', folders)).toMatchObject({ kind: 'missing', why: expect.stringContaining('holdfast-supervisor-linux-arm64') })
  expect(supervisorFor('riscv64', folders)).toEqual({ kind: 'missing', why: 'there is no supervisor for the processor riscv64' })
})
