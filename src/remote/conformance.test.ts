import { afterAll, beforeAll, it } from 'vitest'
import { describeBackend } from '../../test/conformance/backend.ts'
import { type LocalSite, openLocalSite } from '../../test/support/local-site.ts'
import { isTriedOverSsh } from '../../test/support/ssh-server.ts'
import { openWorld, type World } from '../../test/support/world.ts'
import { closeInheritedDescriptors } from '../process/descriptors.ts'
import { findSupervisor, supervisorFor } from '../supervisor/program.ts'
import { openRemote } from './open.ts'

// As the program does when it starts: whoever runs the tests may have left descriptors open.
closeInheritedDescriptors()

const program = findSupervisor()

let world: World
let site: LocalSite

beforeAll(() => {
  world = openWorld()
  site = openLocalSite({ root: world.root, folder: world.path('site') })
})

afterAll(async () => {
  await site[Symbol.asyncDispose]()
  await world[Symbol.asyncDispose]()
})

let count = 0

async function open() {
  count += 1
  const root = world.path('root', `place-${count}`)
  const { mkdirSync } = await import('node:fs')
  mkdirSync(root)
  const remote = await openRemote({ site: { ...site, root }, target: {}, programFor: supervisorFor, folderOf: (run) => world.path('runs', run) })
  if (remote.place.kind !== 'supervised') throw new Error(remote.place.why)
  return { session: remote.place.session, capabilities: remote.capabilities, root, close: remote.close }
}

if (isTriedOverSsh()) it.skip('the backend of a far site: it is tried over ssh, and HOLDFAST_TEST_ALL is not 1', () => {})
else if (program.kind === 'found')
  describeBackend('a far site, supervised', {
    open,
    knownFailures: {
      'capabilities.isolation': 'this site is the machine itself',
      'capabilities.shares-process-table': 'this site is the machine itself',
    },
  })
else it.skip(`the backend of a far site: ${program.why}`, () => {})
