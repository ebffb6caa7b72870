import { fork } from 'node:child_process'
import { Session } from 'node:inspector'
import { fileURLToPath } from 'node:url'
import { openBare } from './bare.mjs'
import { costOf, interleaved, ms, printTable, times } from './measure.mjs'
import { openModes } from './modes.mjs'
import { loadPeers } from './peers.mjs'
import { rawCapture } from './raw.mjs'

const program = '/bin/true'
/**
 * So many one after the other are a round: after a fork each page that the parent writes to is copied or told anew by the kernel, and in
 * turns one by one everybody would pay for the fork of the one before.
 */
const inARow = 10

/** What a run costs beside the bare start of the same program, and beside other libraries. */
export async function latency({ quick, world, goals }) {
  const modes = await openModes(world, 'latency')
  const bare = modes.supervised && (await openBare(world))
  const peers = await loadPeers()
  const variants = [
    { name: 'raw spawn', run: () => rawCapture(program) },
    // In a session of its own, as whoever wants to end a whole tree must start it. A busy Linux schedules it apart, and later.
    { name: 'raw spawn, detached', run: () => rawCapture(program, [], { detached: true }) },
    ...peers.map(({ name, run }) => ({ name, run: () => run(program) })),
    ...(modes.supervised ? [{ name: 'holdfast', run: () => modes.supervised.exec({ argv: [program] }) }] : []),
    { name: 'holdfast, plain mode', run: () => modes.plain.exec({ argv: [program] }) },
    ...(bare ? [{ name: 'the supervisor alone', run: () => bare.run(program) }] : []),
  ]
  const rows = []
  const compare = async (atOnce, rounds, label, warmup = 5) => {
    const results = await interleaved(
      variants.map(({ name, run }) => ({ name, run: atOnce === 1 ? inTurn(run) : () => Promise.all(Array.from({ length: atOnce }, run)) })),
      { rounds, warmup },
    )
    const runs = atOnce === 1 ? inARow : atOnce
    for (const result of results) {
      const each = result.ms / runs
      rows.push([`${label}: ${result.name}`, ms(each), times(result.ratio), (1000 / each).toFixed(0), times(1 / result.ratio), ms(result.cpuMs / runs)])
    }
    return results.find(({ name }) => name === measured)
  }
  const measured = modes.supervised ? 'holdfast' : 'holdfast, plain mode'
  // As in a server that has run some hundred commands: until then the engine of JavaScript is busy with compiling what is new to it.
  const alone = await compare(1, quick ? 10 : 40, '1 at once', quick ? 5 : 40)
  const sixteen = await compare(16, quick ? 8 : 40, '16 at once')
  if (!quick) await compare(64, 12, '64 at once')
  const exec = variants.find(({ name }) => name === measured)
  const parts = await split(exec.run, quick ? 150 : 600)
  printTable(
    `Latency of ${program}, both streams captured (per run; median of interleaved rounds, of ten in a row where it is one at once; ratios = medians of the ratios per round to raw spawn; CPU is that of Node alone)`,
    ['', 'ms', 'ms to raw', 'runs/s', 'runs/s to raw', 'Node CPU ms'],
    rows,
  )
  goals.most('exec of a trivial command, to raw spawn', 0.4, alone.ratio)
  goals.least('runs per second with 16 at once, to raw spawn', 4, 1 / sixteen.ratio)
  parts()
  await bare?.close()
  await modes.close()
  await largeParents({ quick, world, goals })
}

/** Processes of different sizes, in turns: what a start costs should not follow the memory of who asks for it. */
async function largeParents({ quick, world, goals }) {
  const sizes = [0, 300, 1_500]
  const parents = await Promise.all(sizes.map((size) => openParent(size, world.folder(`parent-${size}`))))
  const variants = sizes.flatMap((size, i) => [
    { name: `${size} MB: raw spawn`, run: () => parents[i].ask('raw', 3) },
    { name: `${size} MB: holdfast`, run: () => parents[i].ask('exec', inARow) },
  ])
  for (const parent of parents) await parent.ask('exec', quick ? 20 : 200)
  const results = await interleaved(variants, { rounds: quick ? 4 : 15, warmup: 1, measure: (run) => run() })
  for (const parent of parents) await parent.end()
  const taken = (name) => results.find((result) => result.name === name)
  const toRaw = (size) => taken(`${size} MB: holdfast`).ratio / taken(`${size} MB: raw spawn`).ratio
  printTable(
    `Latency of ${program} in processes of different sizes, in turns (MB that it holds besides; to raw spawn of the same process)`,
    ['', 'ms', 'to the smallest', 'to raw spawn', 'Node CPU ms'],
    sizes.flatMap((size) => [
      [
        `${size} MB: raw spawn`,
        ms(taken(`${size} MB: raw spawn`).ms),
        times(taken(`${size} MB: raw spawn`).ratio),
        '',
        ms(taken(`${size} MB: raw spawn`).cpuMs),
      ],
      [
        `${size} MB: holdfast`,
        ms(taken(`${size} MB: holdfast`).ms),
        times(taken(`${size} MB: holdfast`).ratio / taken('0 MB: holdfast').ratio),
        times(toRaw(size)),
        ms(taken(`${size} MB: holdfast`).cpuMs),
      ],
    ]),
  )
  goals.most('exec, the parent 300 MB larger, to raw spawn', 0.25, toRaw(300))
  goals.most('exec, the parent 1,500 MB larger, to exec in a small one', 1.25, taken('1500 MB: holdfast').ratio / taken('0 MB: holdfast').ratio)
}

async function openParent(size, root) {
  const child = fork(fileURLToPath(new URL('large-parent.mjs', import.meta.url)), [String(size), root])
  const answer = () =>
    new Promise((resolve, reject) => {
      const gone = () => reject(new Error(`the process with ${size} MB ended`))
      child.once('exit', gone)
      child.once('message', (message) => {
        child.off('exit', gone)
        resolve(message)
      })
    })
  await answer()
  return {
    ask(what, inARow) {
      child.send({ what, inARow })
      return answer()
    },
    end() {
      child.send({ what: 'end' })
      return new Promise((resolve) => child.once('exit', resolve))
    },
  }
}

const inTurn = (run) => async () => {
  for (let i = 0; i < inARow; i += 1) await run()
}

// The library is built with its names, so a profile can be read by function. The first name that is met on the way up
// from where a sample was taken says what it belongs to.
const groups = [
  ['start of the program (node:child_process)', ['spawn']],
  ['pipes for the program', ['openOutputPipe', 'openInputPipe', 'takeNamedPipe', 'refill']],
  ['talk with the supervisor', ['startSupervised', 'readFrames', 'onData', 'send', 'sendFrame', 'writeGeneric']],
  ['files of the record', ['createRecord', 'writeRecord', 'writeProcess', 'makeRunFolder', 'readRecord', 'makeHome', 'note']],
  ['index of the output for search, later', ['indexRun', 'indexRuns']],
  ['index of the runs, later', ['tellBehind', 'writeAll', 'attempt', 'write']],
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
