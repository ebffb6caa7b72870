import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { openHoldfast } from '../dist/index.mjs'
import { interleaved, ms, printTable, times } from './measure.mjs'
import { repository } from './program.mjs'
import { rawCapture } from './raw.mjs'

const program = '/bin/true'
const inARow = 5

/** What a command costs in a container that is there, beside the bare start of the same program on this machine. */
export async function docker({ quick, world, goals }) {
  const { startEngine, whyNoEngine } = await loadSupport()
  for (const kind of ['docker', 'podman']) {
    if (whyNoEngine(kind, 'the benchmark')) continue
    const engine = await startEngine(kind)
    try {
      await measure({ kind, engine, quick, world, goals })
    } finally {
      await engine.close()
    }
  }
}

async function measure({ kind, engine, quick, world, goals }) {
  const target = { backend: 'docker', image: engine.image, socket: engine.address }
  const open = (name, more) => openHoldfast({ root: world.folder(`${kind}-${name}`), env: { ...process.env, ...engine.env, ...more } })
  const supervised = await open('supervised', {})
  const plain = await open('plain', {})
  const plainTarget = { ...target, supervisor: 'never' }
  // Both containers are there before the first round.
  for (const [holdfast, to] of [
    [supervised, target],
    [plain, plainTarget],
  ]) {
    const { outcome, warnings } = await holdfast.exec({ argv: [program], target: to })
    if (outcome.exitCode !== 0) throw new Error(`no command ran in the container: ${warnings.join('; ')}`)
  }
  const [container] = await engine.containers()
  const hasCli = spawnSync('docker', ['--version'], { stdio: 'ignore' }).error === undefined
  const variants = [
    { name: 'raw spawn on this machine', run: () => rawCapture(program) },
    { name: `holdfast in a container of ${kind}`, run: () => supervised.exec({ argv: [program], target }) },
    { name: 'the same in plain mode (an exec each)', run: () => plain.exec({ argv: [program], target: plainTarget }) },
    ...(hasCli ? [{ name: 'docker exec', run: () => rawCapture('docker', ['-H', engine.address, 'exec', container, program]) }] : []),
  ]
  const results = await interleaved(
    variants.map(({ name, run }) => ({
      name,
      async run() {
        for (let i = 0; i < inARow; i += 1) await run()
      },
    })),
    { rounds: quick ? 5 : 25, warmup: quick ? 2 : 8 },
  )
  printTable(
    `A command in a container of ${kind} that is there (${program}, both streams captured; per run, median of interleaved rounds of ${inARow} in a row)`,
    ['', 'ms', 'to raw spawn', 'Node CPU ms'],
    results.map((result) => [result.name, ms(result.ms / inARow), times(result.ratio), ms(result.cpuMs / inARow)]),
  )
  goals.most(`a warm command in a container of ${kind}, to raw spawn`, 1.2, results[1].ratio)
  await supervised.close()
  await plain.close()
}

async function loadSupport() {
  const outfile = join(repository, 'node_modules', '.cache', 'docker-engine.mjs')
  const contents = `export { startEngine, whyNoEngine } from ${JSON.stringify(join(repository, 'test/support/docker-engine.ts'))}`
  await build({ stdin: { contents, resolveDir: repository }, outfile, bundle: true, platform: 'node', format: 'esm', target: 'node20', logLevel: 'warning' })
  return import(pathToFileURL(outfile).href)
}
