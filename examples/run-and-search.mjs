// Runs a command, shows its digest, and finds a line of its output again. In a checkout: npm run build && node examples/run-and-search.mjs
import { HoldfastError, openHoldfast } from 'holdfast'

const holdfast = await openHoldfast({ root: process.cwd() })
try {
  const run = await holdfast.exec({
    argv: ['bash', '-c', 'for row in 1 2 3; do echo "row $row"; done; echo "error: row 3 is odd" >&2; exit 1'],
    purpose: 'show how a failing command looks',
    timeoutMs: 10_000,
    onOutput: ({ stream, text }) => process.stdout.write(`[${stream}] ${text}`),
  })
  console.log(run.digest)
  console.log(run.outcome)

  const { hits } = await holdfast.search({ query: '"row 3" odd', limit: 1 })
  for (const hit of hits) console.log(`${hit.ref}: ${hit.text}`)
} catch (error) {
  if (!(error instanceof HoldfastError)) throw error
  console.error(`${error.code}: ${error.message}`)
  process.exitCode = 1
} finally {
  await holdfast.close()
}
