import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { describe } from 'vitest'
import { describeFiles } from '../../test/conformance/files.ts'
import { openSupervisor, packedProgram } from '../../test/support/bare-supervisor.ts'
import { hasProgram } from '../../test/support/has-program.ts'
import { Connection, openConnection } from './connection.ts'
import { createSupervisedFiles } from './files.ts'

// Root may do everything, so that nothing would be denied.
const lessThanRoot: readonly string[] =
  process.getuid?.() === 0 && hasProgram('setpriv', 'what is denied to others than root')
    ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search,-fowner,-chown']
    : []
const [shell = '/bin/sh', ...args] = [...lessThanRoot, '/bin/sh']

describe.runIf(hasProgram('cc', 'files by the supervisor'))('over the socket of a supervisor', () => {
  describeFiles('the supervisor of this machine', {
    async open() {
      const supervisor = await openSupervisor({ ...packedProgram, runner: [...lessThanRoot] })
      const { world } = supervisor
      const root = world.path('place', 'ws')
      mkdirSync(root, { recursive: true })
      const connection = await openConnection(supervisor.socket, 10_000)
      if (!(connection instanceof Connection)) throw new Error('there is no supervisor')
      return {
        files: createSupervisedFiles(connection, root),
        root,
        capabilities: { confinedFiles: true },
        large: false,
        sh: async (script) => execFileSync(shell, [...args, '-c', script], { cwd: world.path('place'), env: world.env }),
        async close() {
          await connection.close()
          await supervisor[Symbol.asyncDispose]()
        },
      }
    },
  })
})
