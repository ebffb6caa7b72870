import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { expect, it } from 'vitest'

/**
 * The examples of the pages in TypeScript, each as a module of its own, against the sources. What an example leaves to its reader stands before
 * it, in a comment that begins with `given:`.
 */

const root = fileURLToPath(new URL('../../', import.meta.url))
const pages = ['README.md', ...readdirSync(`${root}docs`, { recursive: true, encoding: 'utf8' }).map((name) => `docs/${name}`)]
// The reference is made of signatures.
const examples = pages
  .filter((name) => name.endsWith('.md') && name !== 'docs/api.md')
  .flatMap((name) =>
    [...readFileSync(root + name, 'utf8').matchAll(/^(?:<!-- given: (.*) -->\n)?```ts\n([\s\S]*?)^```$/gm)].map(([, given = '', code = ''], at) => ({
      name: `${name} (${at + 1})`,
      code: `${given}\n${code}`,
    })),
  )

it('the pages have examples', () => {
  expect(examples.length).toBeGreaterThan(2)
})

it('the examples of the pages are right to the compiler', { timeout: 120_000 }, () => {
  const files = new Map(examples.map(({ code }, at) => [`${root}test/docs/example-${at}.mts`, code]))
  const config = ts.readConfigFile(`${root}tsconfig.json`, ts.sys.readFile).config as { compilerOptions: object }
  const { options } = ts.convertCompilerOptionsFromJson({ ...config.compilerOptions, noUnusedLocals: false, paths: { holdfast: ['./src/index.ts'] } }, root)
  const host = ts.createCompilerHost(options)
  const read = host.getSourceFile.bind(host)
  host.getSourceFile = (path, version, ...rest) => {
    const text = files.get(path)
    return text === undefined ? read(path, version, ...rest) : ts.createSourceFile(path, text, version)
  }
  const exists = host.fileExists.bind(host)
  host.fileExists = (path) => files.has(path) || exists(path)
  const program = ts.createProgram([...files.keys()], options, host)
  const found = [...files.keys()].flatMap((path, at) =>
    ts
      .getPreEmitDiagnostics(program, program.getSourceFile(path))
      .map(({ messageText }) => `${examples[at]?.name}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`),
  )
  expect(found).toEqual([])
})
