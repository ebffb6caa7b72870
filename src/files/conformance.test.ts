import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { describeFiles } from '../../test/conformance/files.ts'
import { openWorld } from '../../test/support/world.ts'
import { identifySelf, isAlive } from '../process/identity.ts'
import { createHostFiles } from './host-files.ts'

describeFiles('this machine', {
  async open() {
    const world = openWorld()
    const folder = world.path('place')
    const root = world.path('place', 'ws')
    mkdirSync(root, { recursive: true })
    return {
      files: createHostFiles({ root, machine: { self: identifySelf(), isAlive } }),
      root,
      capabilities: { confinedFiles: true },
      large: true,
      sh: async (script) => execFileSync('/bin/sh', ['-c', script], { cwd: folder, env: world.env }),
      close: async () => world[Symbol.asyncDispose](),
    }
  },
})
