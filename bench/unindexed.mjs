import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { openHoldfast } from '../dist/index.mjs'
import { interleaved, median, ms, printTable, times } from './measure.mjs'
import { repository } from './program.mjs'

const sign = /async function indexRuns\([^)]*\) \{/

/** The built library with one function emptied: that which makes the output of runs findable. There is no setting that does it. */
async function libraryWithoutIndex(folder) {
  cpSync(join(repository, 'dist'), join(folder, 'dist'), { recursive: true })
  symlinkSync(join(repository, 'node_modules'), join(folder, 'node_modules'))
  const chunks = join(folder, 'dist', 'chunks')
  const paths = readdirSync(chunks).filter((name) => name.endsWith('.mjs') && sign.test(readFileSync(join(chunks, name), 'utf8')))
  if (paths.length === 0) throw new Error('bench: what makes outputs findable has another name')
  for (const name of paths) writeFileSync(join(chunks, name), readFileSync(join(chunks, name), 'utf8').replace(sign, '$& return;'))
  return import(pathToFileURL(join(folder, 'dist', 'index.mjs')).href)
}

const batch = 20
/** After so long what is told late has been told: outputs are indexed 250 ms after the last run. */
const lateMs = 400

const logLine = '2026-01-02 03:04:05 compiling module src/alpha/beta.ts with options default ok\n'
const commands = [
  ['/bin/true', ['/bin/true']],
  ['echo of a line', ['/bin/echo', 'the quick brown fox']],
  ['1 KB, then a failure', ['/bin/sh', '-c', `printf '%s' '${logLine.repeat(11)}src/a.c:12:3: error: expected expression'; exit 1`]],
  ['3 KB that pass', ['/bin/sh', '-c', `printf '%s' '${logLine.repeat(38)}'`]],
]

/** What it costs a command, and this process a moment later, that its output can be found. */
export async function indexingCost({ quick, world, goals }) {
  const { openHoldfast: openWithout } = await libraryWithoutIndex(world.folder('library-without-index'))
  const rows = []
  for (const [name, argv] of commands) {
    const off = await openWithout({ root: world.folder(`index-off-${rows.length}`) })
    const on = await openHoldfast({ root: world.folder(`index-on-${rows.length}`) })
    const waited = []
    const measured = (holdfast, at) => async () => {
      const start = performance.now()
      for (let i = 0; i < batch; i += 1) await holdfast.exec({ argv })
      waited.push([at, (performance.now() - start) / batch])
      // Its CPU counts too.
      await new Promise((resolve) => setTimeout(resolve, lateMs))
    }
    const results = await interleaved(
      [
        { name: 'off', run: measured(off, 0) },
        { name: 'on', run: measured(on, 1) },
      ],
      { rounds: quick ? 5 : 15, warmup: 5 },
    )
    const [without, with_] = [0, 1].map((side) => waited.filter(([at]) => at === side).map(([, taken]) => taken))
    const ratio = median(without.slice(5).map((taken, round) => taken / with_[round + 5]))
    const [cpuOff, cpuOn] = results.map(({ taken }) => taken.map(({ cpuMs }) => cpuMs / batch))
    const cpuRatio = median(cpuOff.map((taken, round) => taken / cpuOn[round]))
    rows.push([name, ms(median(without)), ms(median(with_)), times(ratio), ms(median(cpuOff)), ms(median(cpuOn)), times(cpuRatio)])
    goals.least(`exec of ${name}: speed with its output findable, to without`, 0.97, ratio)
    await Promise.all([off.close(), on.close()])
  }
  printTable('exec with its output findable (on) and not (off), interleaved', ['', 'off, ms', 'on, ms', 'off / on', 'CPU off', 'CPU on', 'off / on'], rows)
}
