import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

/** Makes one file of TypeScript source that plain Node can run; for tests that need a second process. */
export async function bundle(source: string, outfile: string): Promise<string> {
  await build({
    stdin: { contents: source, loader: 'ts', resolveDir: fileURLToPath(new URL('../..', import.meta.url)) },
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    outfile,
    logLevel: 'error',
  })
  return outfile
}
