// Runs a command with the built library in a process of its own and says how far that process grew.
// Arguments: the library, the root, maxOutputBytes (0: the default), then the command. MEMORY_TARGET names a target to run it at.
const [library, root, maxOutputBytes, ...argv] = process.argv.slice(2)
const { openHoldfast } = await import(library)
const holdfast = await openHoldfast({ root })
const target = process.env.MEMORY_TARGET
await holdfast.exec({ argv: ['true'], target })
globalThis.gc?.()
const before = process.memoryUsage().rss
let most = before
const timer = setInterval(() => {
  most = Math.max(most, process.memoryUsage().rss)
}, 10)
const run = await holdfast.exec({ argv, target, ...(maxOutputBytes === '0' ? {} : { maxOutputBytes: Number(maxOutputBytes) }) })
clearInterval(timer)
most = Math.max(most, process.memoryUsage().rss)
await holdfast.close()
process.stdout.write(JSON.stringify({ run, grewBytes: most - before }))
