// Runs a command with the built library and prints the result. Arguments: the library, the root, the input of exec as JSON; with
// `live: true` in it the output is listened to. A standard input that is not empty is handed to the command as it comes.
const [library, root, json] = process.argv.slice(2)
const { openHoldfast } = await import(library)
const { live, fed, ...input } = JSON.parse(json)
const holdfast = await openHoldfast({ root })
const result = await holdfast
  .exec({ ...input, ...(live && { onOutput: () => {} }), ...(fed && { stdin: process.stdin }) })
  .catch((error) => ({ error: { message: String(error), details: error.details } }))
process.stdout.write(JSON.stringify(result))
await holdfast.close()
process.exit(0)
