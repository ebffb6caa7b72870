// npm run bench [-- --quick] [-- --only TOPIC]: measures Holdfast against raw spawn in the same process and prints what was reached.
import { parseArgs } from 'node:util'
import { answers } from './answers.mjs'
import { digest } from './digest.mjs'
import { docker } from './docker.mjs'
import { history } from './history.mjs'
import { latency } from './latency.mjs'
import { goalBook, loadWords, machineFacts } from './measure.mjs'
import { search } from './search.mjs'
import { ssh } from './ssh.mjs'
import { start } from './start.mjs'
import { throughput } from './throughput.mjs'
import { workspaces } from './workspaces.mjs'
import { openWorld } from './world.mjs'

const topics = { latency, throughput, history, search, start, digest, answers, workspaces, docker, ssh }
const { values } = parseArgs({ options: { quick: { type: 'boolean', default: false }, only: { type: 'string', multiple: true } } })
const unknown = (values.only ?? []).filter((name) => !Object.hasOwn(topics, name))
if (unknown.length > 0) {
  process.stderr.write(`bench: no topic ${unknown.join(', ')}; there are ${Object.keys(topics).join(', ')}\n`)
  process.exit(2)
}

const startedAt = performance.now()
process.stdout.write(`${machineFacts()}${values.quick ? '\nQuick: few rounds and small sizes; figures to compare with are those of a full run.' : ''}\n`)
const world = openWorld()
const goals = goalBook()
try {
  process.stdout.write(`${world.words}\n`)
  for (const name of values.only ?? Object.keys(topics)) await topics[name]({ quick: values.quick, world, goals })
  goals.print()
} finally {
  await world.close()
}
process.stdout.write(`\n${Math.round((performance.now() - startedAt) / 1000)} s in all; at the end ${loadWords()}\n`)
