import { spawn } from 'node:child_process'
import { createWriteStream, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { openHoldfast } from '../dist/index.mjs'
import { interleaved, ms, printTable, times } from './measure.mjs'
import { repository } from './program.mjs'
import { rawCapture, rawQuiet } from './raw.mjs'

const program = '/bin/true'
const inARow = 5
const uploadBytes = 100_000_000

/** Commands and files of an account over a real sshd on the loopback, beside what ssh and sftp do over a connection that is open. */
export async function ssh({ quick, world, goals }) {
  const { openSshServer, openRelay, refuseSshServer } = await loadSupport()
  const why = refuseSshServer()
  if (why) {
    process.stdout.write(`\nssh: not measured: ${why}\n`)
    return
  }
  const server = await openSshServer()
  const runtime = world.folder('ssh-runtime')
  mkdirSync(join(runtime, 'own'), { mode: 0o700 })
  const relay = await openRelay(server.port)
  const through = server.config('through', [`Port ${relay.port}`, `HostKeyAlias [127.0.0.1]:${server.port}`])
  const root = world.folder('ssh')
  mkdirSync(join(runtime, 'config', 'holdfast'), { recursive: true })
  const targets = { box: server.target(), cut: server.target({ config: through }) }
  writeFileSync(join(runtime, 'config', 'holdfast', 'holdfast.json'), JSON.stringify({ targets }))
  const env = { ...process.env, XDG_RUNTIME_DIR: join(runtime, 'own'), XDG_CONFIG_HOME: join(runtime, 'config'), HOLDFAST_SUPERVISOR: undefined }
  const holdfast = await openHoldfast({ root, env })
  const socket = join(runtime, 'raw')
  const connected = ['-F', server.config('raw'), '-o', `ControlPath=${socket}`]
  try {
    await rawQuiet('ssh', [...connected, '-o', 'ControlMaster=yes', '-o', 'ControlPersist=600', '-N', 'box'])
    await latency({ quick, goals, holdfast, connected })
    await upload({ quick, goals, holdfast, connected, root })
    await download({ quick, holdfast, connected, root })
    await cuts({ quick, goals, holdfast, relay, server, root })
  } finally {
    await holdfast.close()
    await rawCapture('ssh', [...connected, '-O', 'exit', 'box'])
    await relay[Symbol.asyncDispose]()
    await server[Symbol.asyncDispose]()
  }
}

async function latency({ quick, goals, holdfast, connected }) {
  const exec = () => holdfast.exec({ argv: [program], target: 'box' })
  const variants = [
    { name: 'raw spawn, here', run: () => rawCapture(program) },
    { name: 'holdfast over ssh', run: exec },
    { name: 'ssh over a connection that is open', run: () => rawCapture('ssh', [...connected, 'box', program]) },
  ]
  for (let i = 0; i < (quick ? 20 : 100); i += 1) await exec()
  const results = await interleaved(
    variants.map(({ name, run }) => ({
      name,
      async run() {
        for (let i = 0; i < inARow; i += 1) await run()
      },
    })),
    { rounds: quick ? 8 : 30, warmup: 2 },
  )
  printTable(
    `${program} over ssh on the loopback (per run; median of interleaved rounds of ${inARow})`,
    ['', 'ms', 'to raw spawn'],
    results.map((result) => [result.name, ms(result.ms / inARow), times(result.ratio)]),
  )
  goals.most('exec of a trivial command over ssh, to raw spawn here', 1, results[1].ratio)
}

async function upload({ quick, goals, holdfast, connected, root }) {
  const bytes = quick ? uploadBytes / 5 : uploadBytes
  const file = join(root, 'upload')
  await randomFile(file, bytes)
  const variants = [
    { name: 'sftp', run: () => rawPiped('sftp', ['-q', '-b', '-', ...connected, 'box'], `put ${file} by-sftp\n`) },
    { name: 'ssh and cat', run: () => rawPiped('sh', ['-c', 'exec ssh "$@" <"$0"', file, ...connected, 'box', 'cat >by-cat']) },
    { name: 'holdfast copy', run: () => holdfast.copyFiles({ from: 'upload', to: 'box:by-holdfast' }) },
  ]
  const results = await interleaved(variants, { rounds: quick ? 3 : 7, warmup: 1 })
  printTable(
    `Upload of ${bytes / 1e6} MB of random bytes over a connection that is open (median of interleaved rounds)`,
    ['', 'ms', 'MB/s', 'speed to sftp'],
    results.map(({ name, ms: taken, ratio }) => [name, ms(taken), (bytes / taken / 1000).toFixed(0), times(1 / ratio)]),
  )
  goals.least('upload of 100 MB over ssh, to sftp', 1.15, 1 / results[2].ratio)
}

/** The way back of what `upload` has brought there. */
async function download({ quick, holdfast, connected, root }) {
  const bytes = statSync(join(root, 'upload')).size
  const variants = [
    { name: 'sftp', run: () => rawPiped('sftp', ['-q', '-b', '-', ...connected, 'box'], `get by-sftp ${join(root, 'by-sftp')}\n`) },
    { name: 'ssh and cat', run: () => rawPiped('sh', ['-c', 'exec ssh "$@" >"$0"', join(root, 'by-cat'), ...connected, 'box', 'cat by-cat']) },
    { name: 'holdfast copy', run: () => holdfast.copyFiles({ from: 'box:by-holdfast', to: 'by-holdfast' }) },
  ]
  const results = await interleaved(variants, { rounds: quick ? 3 : 7, warmup: 1 })
  printTable(
    `Download of the same (median of interleaved rounds)`,
    ['', 'ms', 'MB/s', 'speed to sftp'],
    results.map(({ name, ms: taken, ratio }) => [name, ms(taken), (bytes / taken / 1000).toFixed(0), times(1 / ratio)]),
  )
}

/** The connection is cut again and again while a command prints; what it printed is told by the numbers in it. */
async function cuts({ quick, goals, holdfast, relay, server, root }) {
  const wanted = quick ? 10 : 100
  const script = 'touch began; i=0; while [ ! -e stop ]; do seq $i $((i+199)); i=$((i+200)); sleep 0.02; done; echo $i'
  const running = holdfast.exec({ argv: ['sh', '-c', script], target: 'cut', timeoutMs: 600_000 })
  while (!existsSync(join(server.home, 'began'))) await new Promise((resolve) => setTimeout(resolve, 20))
  const runs = join(root, '.holdfast', 'runs')
  const arrived = () => Math.max(...readdirSync(runs).map((run) => statSync(join(runs, run, 'stdout.log'), { throwIfNoEntry: false })?.size ?? 0))
  const began = performance.now()
  for (let cut = 0; cut < wanted; cut += 1) {
    // Until output comes again: not a connection that is just beginning.
    const before = arrived()
    while (arrived() <= before && performance.now() - began < 500_000) await new Promise((resolve) => setTimeout(resolve, 10))
    relay.cut()
  }
  const each = (performance.now() - began) / wanted
  writeFileSync(join(server.home, 'stop'), '')
  const run = await running
  const lines = readFileSync(join(root, '.holdfast', 'runs', run.id, 'stdout.log'), 'utf8')
    .trimEnd()
    .split('\n')
  const last = Number(lines.pop())
  const lost = lines.length === last && lines.every((line, i) => line === String(i)) ? 0 : Math.abs(last - lines.length) || 1
  printTable(
    `Reconnecting while a command prints`,
    ['cuts', 'ms each', 'lines printed', 'lines lost', 'end'],
    [[wanted, ms(each), last, lost, `exit ${run.outcome.exitCode}`]],
  )
  goals.most('lines lost in as many cuts', 0, lost, String)
}

function rawPiped(name, args, input = '') {
  return new Promise((resolve, reject) => {
    const child = spawn(name, args, { stdio: ['pipe', 'ignore', 'inherit'] })
    child.once('error', reject)
    child.once('exit', (code) => (code === 0 ? resolve() : reject(new Error(`${name}: exit ${code}`))))
    child.stdin.on('error', () => {}).end(input)
  })
}

function randomFile(path, bytes) {
  if (existsSync(path)) return undefined
  return new Promise((resolve, reject) => {
    const child = spawn('head', ['-c', String(bytes), '/dev/urandom'], { stdio: ['ignore', 'pipe', 'inherit'] })
    child.stdout.pipe(createWriteStream(path)).once('finish', resolve).once('error', reject)
  })
}

async function loadSupport() {
  const outfile = join(repository, 'node_modules', '.cache', 'holdfast-bench', 'ssh-server.mjs')
  const from = (path, names) => `export { ${names} } from ${JSON.stringify(join(repository, 'test', 'support', path))}`
  const contents = [from('ssh-server.ts', 'openSshServer, refuseSshServer'), from('relay.ts', 'openRelay')].join('\n')
  await build({ stdin: { contents, resolveDir: repository }, outfile, bundle: true, platform: 'node', format: 'esm', target: 'node20', logLevel: 'warning' })
  return import(pathToFileURL(outfile).href)
}
