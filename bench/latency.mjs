import { Session } from 'node:inspector'
import { openHoldfast } from '../dist/index.mjs'
import { costOf, interleaved, ms, printTable, times } from './measure.mjs'
import { rawCapture } from './raw.mjs'

const program = '/bin/true'
const ballastBytes = 300 * 1024 ** 2

/** What a run costs beside the bare start of the same program. */
export async function latency({ quick, world, goals }) {
  const holdfast = await openHoldfast({ root: world.folder('latency') })
  const exec = () => holdfast.exec({ argv: [program] })
  const raw = () => rawCapture(program)
  // In a session of its own, as whoever wants to end a whole tree must start it. A busy Linux schedules it apart, and later.
  const detached = () => rawCapture(program, [], { detached: true })
  const cases = [
    [1, quick ? 60 : 300],
    [16, quick ? 8 : 25],
    [64, quick ? 4 : 12],
  ]
  const rows = []
  const compare = async (atOnce, rounds, label) => {
    const all = (one) => () => Promise.all(Array.from({ length: atOnce }, one))
    const [base, apart, ours] = await interleaved(
      [
        { name: 'raw spawn', run: all(raw) },
        { name: 'raw spawn, detached', run: all(detached) },
        { name: 'holdfast.exec', run: all(exec) },
      ],
      { rounds, warmup: atOnce === 1 ? 30 : 2 },
    )
    const each = (result) => [ms(result.ms / atOnce), ms(result.cpuMs / atOnce)]
    rows.push([label, rounds, ...each(base), times(apart.ratio), ...each(ours), times(ours.ratio)])
    return ours.ratio
  }
  const ratios = []
  for (const [atOnce, rounds] of cases) ratios.push(await compare(atOnce, rounds, `${atOnce} at once`))
  const parts = await split(exec, quick ? 150 : 600)
  const ballast = Buffer.alloc(ballastBytes, 1)
  const loaded = await compare(1, quick ? 30 : 150, '1 at once, parent 300 MB larger')
  if (ballast[1] !== 1) throw new Error('the ballast is gone')
  printTable(
    `Latency of ${program}, both streams captured (per run; median of interleaved rounds, ratio = median of the ratios per round; CPU is that of Node alone)`,
    ['', 'rounds', 'raw ms', 'raw CPU ms', 'detached / raw', 'exec ms', 'exec CPU ms', 'exec / raw'],
    rows,
  )
  goals.most('exec of a trivial command', 1.1, ratios[0])
  goals.most('exec, 16 at once', 1.1, ratios[1])
  goals.most('exec, 64 at once', 1.1, ratios[2])
  goals.most('exec, parent at 300 MB more (needs a spawn server)', 0.4, loaded)
  parts()
  await holdfast.close()
}

// The library is built with its names, so a profile can be read by function. The first name that is met on the way up
// from where a sample was taken says what it belongs to.
const groups = [
  ['start of the program (node:child_process)', ['spawn']],
  ['pipes for the program', ['openOutputPipe', 'openInputPipe', 'takeNamedPipe', 'refill']],
  ['record files', ['writeRecord', 'writeProcess', 'makeRunFolder', 'readRecord', 'makeHome']],
  ['index of the output for search', ['indexRun', 'indexRuns']],
  ['store writes', ['attempt', 'write']],
  ['log files', ['openLogWriter', 'finish', 'append']],
  ['what was left behind (/proc)', ['findTree', 'identifyChild']],
  ['digest and result', ['toResult']],
  ['cwd, branch, environment', ['resolveCwd', 'realOr', 'composeEnvironment', 'findRepository', 'headOf']],
]

async function split(exec, runs) {
  const session = new Session()
  session.connect()
  const post = (method, params) => new Promise((resolve, reject) => session.post(method, params, (error, result) => (error ? reject(error) : resolve(result))))
  await post('Profiler.enable')
  await post('Profiler.setSamplingInterval', { interval: 100 })
  await post('Profiler.start')
  const { ms: wall } = await costOf(async () => {
    for (let i = 0; i < runs; i += 1) await exec()
  })
  const { profile } = await post('Profiler.stop')
  session.disconnect()
  const spent = attribute(profile)
  const rows = [...spent].sort((a, b) => b[1] - a[1]).map(([name, us]) => [name, ms(us / 1000 / runs), `${Math.round(us / 10 / wall)} %`])
  return () =>
    printTable(`Where the time of one exec goes (profile of ${runs} runs, one after the other; the profiler itself costs some)`, ['', 'ms', 'share'], rows)
}

function attribute({ nodes, samples, timeDeltas }) {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const parents = new Map(nodes.flatMap((node) => (node.children ?? []).map((child) => [child, node.id])))
  const owners = new Map(groups.flatMap(([part, names]) => names.map((name) => [name, part])))
  const spent = new Map()
  samples.forEach((sample, i) => {
    let part = 'everything else of ours'
    const leaf = byId.get(sample)?.callFrame.functionName
    if (leaf === '(idle)') part = 'waiting (the program runs)'
    else if (leaf === '(garbage collector)' || leaf === '(program)') part = 'engine (garbage collection, native)'
    else {
      for (let at = sample; at !== undefined; at = parents.get(at)) {
        const { functionName, url } = byId.get(at).callFrame
        // Names with a digit at their end are those that the bundler had to tell apart.
        const owner = owners.get(functionName) ?? (url.endsWith('index.mjs') ? owners.get(functionName.replace(/\d+$/, '')) : undefined)
        if (owner === undefined || (owner.startsWith('start of') && !url.startsWith('node:'))) continue
        part = owner
        break
      }
    }
    spent.set(part, (spent.get(part) ?? 0) + timeDeltas[i])
  })
  return spent
}
