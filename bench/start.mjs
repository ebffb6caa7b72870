import { spawn } from 'node:child_process'
import { seededHome } from './history.mjs'
import { interleaved, ms, printTable, times } from './measure.mjs'
import { cliArgv, launcher } from './program.mjs'
import { rawQuiet } from './raw.mjs'

/** How soon the program is there. */
export async function start({ quick, world, goals }) {
  const runs = quick ? 5_000 : 50_000
  const seeded = await seededHome(world)
  await seeded.growTo(runs)
  const cwd = world.folder('start')
  const env = { ...process.env, HOLDFAST_HOME: seeded.home }
  const options = { cwd, env }
  const cli = (...args) => rawQuiet(...cliArgv(args), options)
  let listBytes = 0
  const results = await interleaved(
    [
      { name: 'node -e 0', run: () => rawQuiet(process.execPath, ['-e', '0'], options) },
      { name: 'holdfast --version', run: () => cli('--version') },
      { name: './holdfast --version (launcher)', run: () => rawQuiet(launcher, ['--version'], options) },
      { name: `holdfast runs (${runs.toLocaleString('en')} in the store)`, run: () => cli('runs') },
      { name: 'holdfast exec --help', run: () => cli('exec', '--help') },
      { name: 'holdfast exec -- /bin/true', run: () => cli('exec', '--', '/bin/true') },
      {
        name: 'holdfast mcp, to its list of tools',
        run: async () => {
          listBytes = await toolsListed(options)
        },
      },
    ],
    { rounds: quick ? 7 : 25 },
  )
  printTable(
    `Start (${results[0].rounds} interleaved rounds)`,
    ['', 'ms', 'to node -e 0'],
    results.map((result) => [result.name, ms(result.ms), times(result.ratio)]),
  )
  process.stdout.write(`The list of tools has ${listBytes.toLocaleString('en')} bytes.\n`)
  goals.most('start of holdfast --version, to node -e 0', 1.3, results[1].ratio)
  goals.most('start of ./holdfast --version, to node -e 0', 1.3, results[2].ratio)
  goals.most('holdfast runs, to node -e 0', 1.3, results[3].ratio)
  goals.most('MCP server, to its list of tools, to node -e 0', 1.8, results[6].ratio)
  goals.most('bytes of the list of tools', 6_144, listBytes, (value) => value.toLocaleString('en'))
}

/** Starts the server, greets it and asks for its tools; resolves to the bytes of the list once it is here. */
function toolsListed(options) {
  return new Promise((resolve, reject) => {
    const [program, args] = cliArgv(['mcp'])
    const child = spawn(program, args, { ...options, stdio: ['pipe', 'pipe', 'inherit'] })
    const say = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    let text = ''
    child.stdout.setEncoding('utf8')
    child.stdout.on('data', (chunk) => {
      text += chunk
      for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n')) {
        const line = text.slice(0, end)
        text = text.slice(end + 1)
        const { id, result } = JSON.parse(line)
        if (id === 1) {
          say({ method: 'notifications/initialized' })
          say({ id: 2, method: 'tools/list' })
        }
        if (id !== 2) continue
        resolve(Buffer.byteLength(JSON.stringify(result)))
        child.stdin.end()
        child.kill('SIGKILL')
      }
    })
    child.once('error', reject)
    child.once('exit', () => reject(new Error('the server ended before it listed its tools')))
    say({ id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'bench', version: '1' } } })
  })
}
