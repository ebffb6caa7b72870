import { openHoldfast } from '../dist/index.mjs'

/**
 * Holdfast as it is, with the supervisor, and in plain mode, where this process starts the commands itself. `supervised` is undefined
 * where there is no supervisor, with a word about it.
 */
export async function openModes(world, name, rest = {}) {
  const open = (folder, env) => openHoldfast({ root: world.folder(folder), env: { ...process.env, ...rest, ...env } })
  const plain = await open(`${name}-plain`, { HOLDFAST_SUPERVISOR: 'never' })
  const supervised = await open(name, {})
  // Only a supervisor tells what a run took of the machine.
  const { usage, warnings } = await supervised.exec({ argv: ['/bin/true'] })
  if (usage) return { supervised, plain, close: () => Promise.all([supervised.close(), plain.close()]) }
  process.stdout.write(`\n(there is no supervisor here, so plain mode is all that is measured${warnings.length > 0 ? `: ${warnings.join('; ')}` : ''})\n`)
  await supervised.close()
  return { supervised: undefined, plain, close: () => plain.close() }
}
