import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { repository } from './program.mjs'

/**
 * A supervisor of its own, spoken to without anything of Holdfast around it: no record, no index, no digest. What it takes is what
 * remains where all of that costs nothing. Undefined where there is no supervisor.
 */
export async function openBare(world) {
  const { connectSupervisor, findSupervisor, newRunId, openSupervisedSession } = await loadSources()
  const folder = join(repository, 'dist', 'native')
  const program = findSupervisor({ folders: [folder], platform: process.platform, arch: process.arch })
  if (program.kind !== 'found') return undefined
  const home = world.folder('bare')
  const connection = await connectSupervisor({ home, program, runtimeFolder: undefined, idleMs: 5_000 })
  const refuse = (why) => new Error(JSON.stringify(why))
  const session = openSupervisedSession(connection, { check() {}, refusal: refuse, tooLarge: refuse })
  const env = { PATH: process.env.PATH ?? '' }
  const limits = { timeoutMs: 60_000, idleTimeoutMs: null, graceMs: 2_000, maxOutputBytes: 64 * 1024 ** 2 }
  return {
    async run(program) {
      const id = newRunId()
      const folder = join(home, id)
      mkdirSync(folder, 0o700)
      const command = { argv: [program], cwd: home, env, stdin: 'none', mark: id }
      const terms = { id, folder, limits, leftovers: 'report', input: undefined, inputEnds: true, bound: false, listen: { kind: 'nothing' } }
      return (await session.start(command, terms)).ended
    },
    close: () => session.close(),
  }
}

async function loadSources() {
  const outfile = join(repository, 'node_modules', '.cache', 'holdfast-bench', 'bare.mjs')
  const from = (path, names) => `export { ${names} } from ${JSON.stringify(join(repository, 'src', path))}`
  const contents = [
    from('supervisor/connect.ts', 'connectSupervisor'),
    from('supervisor/program.ts', 'findSupervisor'),
    from('supervisor/session.ts', 'openSupervisedSession'),
    from('app/run-id.ts', 'newRunId'),
  ].join('\n')
  await build({ stdin: { contents, resolveDir: repository }, outfile, bundle: true, platform: 'node', format: 'esm', target: 'node20', logLevel: 'warning' })
  return import(pathToFileURL(outfile).href)
}
