import { it } from 'vitest'
import { describeBackend } from '../../../test/conformance/backend.ts'
import { endSupervisor } from '../../../test/support/end-supervisors.ts'
import { openWorld } from '../../../test/support/world.ts'
import { capabilitiesOf } from '../../core/backend.ts'
import { closeInheritedDescriptors } from '../../process/descriptors.ts'
import { canMakePipes } from '../../process/pipes.ts'
import { findSupervisor } from '../../supervisor/program.ts'
import { hostBackend } from './backend.ts'
import { openSupervisedHostSession } from './supervised.ts'

// As the program does when it starts: whoever runs the tests may have left descriptors open.
closeInheritedDescriptors()

async function open(pipes: boolean) {
  const world = openWorld()
  const spec = { root: world.root, pipes }
  const session = await hostBackend.open(spec, new AbortController().signal)
  return {
    session,
    capabilities: hostBackend.capabilities(spec),
    root: world.root,
    async close() {
      await session.close()
      await world[Symbol.asyncDispose]()
    },
  }
}

const realTime = { 'endings.real-time-signal': 'Node knows no name for such a signal and reports an exit with 0 in its place' }

describeBackend('host with named pipes', { open: async () => open(await canMakePipes()), knownFailures: realTime })

describeBackend('host with sockets', {
  open: () => open(false),
  knownFailures: { ...realTime, 'bytes.dev-stderr': 'Node gives its children sockets, and a socket cannot be opened by its name' },
})

const supervisor = findSupervisor()

async function openSupervised() {
  if (supervisor.kind === 'missing') throw new Error(supervisor.why)
  const world = openWorld()
  const session = await openSupervisedHostSession({ home: world.path('root', '.holdfast'), program: supervisor, runtimeFolder: world.tmp, idleMs: 1_000 })
  return {
    session,
    capabilities: capabilitiesOf({ backend: 'host', platform: process.platform, pipes: true, supervised: true }),
    root: world.root,
    async close() {
      await session.close()
      await endSupervisor(session.supervisor)
      await world[Symbol.asyncDispose]()
    },
  }
}

if (supervisor.kind === 'found') describeBackend('host with a supervisor', { open: openSupervised })
else it.skip(`the backend host with a supervisor: ${supervisor.why}`, () => {})
