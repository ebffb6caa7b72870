// Looks at a run from a process that has not seen it before, and starts another one; prints what it found as JSON.
// Arguments: the library, the root, the id of the run.
const [library, root, run] = process.argv.slice(2)
const { openHoldfast } = await import(library)

const timesMs = {}
async function timed(name, work) {
  const start = performance.now()
  try {
    return await work()
  } finally {
    timesMs[name] = Math.round(performance.now() - start)
  }
}

const found = { timesMs }
try {
  const holdfast = await openHoldfast({ root })
  found.first = await timed('show', () => holdfast.show({ run }))
  found.waited = await timed('wait', () => holdfast.wait({ run, waitMs: 10_000 }))
  found.shown = await holdfast.show({ run })
  found.output = await timed('output', () => holdfast.output({ run, stream: 'stdout', maxBytes: 5_000_000 }))
  found.listed = (await timed('runs', () => holdfast.runs({}))).runs
  found.next = await timed('exec', () => holdfast.exec({ script: 'echo next' }))
  await timed('close', () => holdfast.close())
} catch (error) {
  found.error = { message: String(error), details: error.details, stack: error.stack }
}
process.stdout.write(JSON.stringify(found))
