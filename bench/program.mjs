import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const repository = fileURLToPath(new URL('..', import.meta.url))
export const launcher = join(repository, 'holdfast')

/** The built program as `[program, args]`. */
export const cliArgv = (args) => [process.execPath, [join(repository, 'dist', 'cli.js'), ...args]]
