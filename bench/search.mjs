import { spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { openHoldfast } from '../dist/index.mjs'
import { median, printTable, timed, times } from './measure.mjs'
import { hiddenWord, openSeeder, rareWord } from './seed.mjs'

/** A gigabyte of logs, most of it in a fiftieth of the runs, as histories are: searched by Holdfast and by ripgrep alone. */
export async function search({ quick, world, goals }) {
  const runs = quick ? 5_000 : 50_000
  const kept = process.env.HOLDFAST_BENCH_HISTORY
  const home = join(kept ?? world.folder('search'), 'home')
  if (!kept || !statSync(home, { throwIfNoEntry: false })) {
    const seeder = await openSeeder(home, { longBytes: (i) => (i % 50 === 0 ? [300_000, 1_000_000, 1_900_000][(i / 50) % 3] : 0) })
    process.stdout.write(`\n(made ${runs.toLocaleString('en')} runs in ${((await timed(() => seeder.growTo(runs))) / 1000).toFixed(1)} s)\n`)
  }
  const logs = Number(spawnSync('sh', ['-c', 'find runs -name "std*.log" -printf "%s\\n" | awk "{ s += \\$1 } END { print s }"'], { cwd: home }).stdout)
  const index = statSync(join(home, 'index.db')).size
  const holdfast = await openHoldfast({ root: world.folder('searching'), env: { ...process.env, HOLDFAST_HOME: home } })
  const rows = []
  for (const { name, input, alone, goal } of questions) {
    const ours = []
    const theirs = []
    let found = 0
    await holdfast.search(input)
    for (let round = 0; round < (quick ? 2 : 3); round += 1) {
      ours.push(
        await timed(async () => {
          found = (await holdfast.search(input)).hits.length
        }),
      )
      theirs.push(await timed(async () => ripgrep(home, alone)))
    }
    const ratio = median(ours.map((ms, i) => ms / theirs[i]))
    rows.push([name, median(ours).toFixed(1), median(theirs).toFixed(1), times(ratio), found])
    if (goal === 'ratio') goals.most(`search of ${name}, to ripgrep alone`, 1.5, ratio)
    if (goal === 'ms') goals.most(`search of ${name}, in ms`, 10, median(ours), (value) => value.toFixed(1))
  }
  await holdfast.close()
  goals.most('index and records, to the bytes of the logs', 1, index / logs)
  printTable(
    `search in ${runs.toLocaleString('en')} runs with ${(logs / 1024 ** 2).toFixed(0)} MiB of logs (database ${(index / 1024 ** 2).toFixed(0)} MiB)`,
    ['', 'ms', 'ripgrep alone, ms', 'ratio', 'hits'],
    rows,
  )
}

const questions = [
  { name: 'a word that the index knows', input: { query: rareWord }, alone: ['-F', rareWord], goal: 'ms' },
  { name: 'the same, in runs that failed', input: { query: rareWord, failing: true }, alone: ['-F', rareWord] },
  { name: 'a rare identifier in the middle of a log', input: { query: hiddenWord }, alone: ['-F', hiddenWord], goal: 'ratio' },
  { name: 'a common word', input: { query: 'refused' }, alone: ['-F', 'refused'] },
  { name: 'a phrase', input: { query: '"connection refused"' }, alone: ['-F', 'connection refused'] },
  { name: 'two words', input: { query: `${hiddenWord} worker` }, alone: ['-F', hiddenWord], goal: 'ratio' },
  { name: 'a regular expression', input: { query: 'pterodactylus\\w+\\d', regex: true }, alone: ['pterodactylus\\w+\\d'], goal: 'ratio' },
  { name: 'a word that no run has', input: { query: 'brontosaurusLost' }, alone: ['-F', 'brontosaurusLost'], goal: 'ratio' },
]

const { resolve } = createRequire(createRequire(import.meta.url).resolve('@vscode/ripgrep'))
const program = resolve(`@vscode/ripgrep-${process.platform}-${process.arch}/bin/rg`)

function ripgrep(home, args) {
  spawnSync(program, ['--no-config', '-uu', '--text', '-n', '--glob', 'std*.log', ...args, 'runs'], { cwd: home, stdio: ['ignore', 'ignore', 'ignore'] })
}
