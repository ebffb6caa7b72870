import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { describeFiles } from '../../test/conformance/files.ts'
import { type LocalSiteOptions, openLocalSite } from '../../test/support/local-site.ts'
import { openWorld } from '../../test/support/world.ts'
import { createShellFiles } from './shell-files.ts'

const places: Readonly<Record<string, Partial<LocalSiteOptions> & { program: string }>> = {
  dash: { program: 'dash', shell: ['dash'] },
  busybox: { program: 'busybox', shell: ['busybox', 'sh'], canEndInput: false },
  bash: { program: 'bash', shell: ['bash', '--posix'], noise: 'Welcome!\n' },
}

for (const [name, { program, ...options }] of Object.entries(places))
  describeFiles(`a far site, by ${name}`, {
    async open() {
      const world = openWorld()
      const folder = world.path('place')
      const root = world.path('place', 'ws')
      mkdirSync(root, { recursive: true })
      const applets = world.path('applets')
      mkdirSync(applets)
      if (program === 'busybox') execFileSync('busybox', ['--install', '-s', applets])
      // Busybox brings its own programs.
      const env = { PATH: `${applets}:${process.env.PATH}` }
      const site = openLocalSite({ root, folder: world.path('site'), env, ...options })
      return {
        files: createShellFiles(site),
        root,
        capabilities: { confinedFiles: false },
        sh: async (script) => execFileSync('/bin/sh', ['-c', script], { cwd: folder, env: world.env }),
        async close() {
          await site[Symbol.asyncDispose]()
          await world[Symbol.asyncDispose]()
        },
      }
    },
  })
