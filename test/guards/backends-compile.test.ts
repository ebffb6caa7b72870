import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { expect, it } from 'vitest'
import { repository } from './sources.ts'

/** Capabilities are total over backends: the compiler is asked about `src/core/backend.ts` with a change. As it is, the whole check compiles it. */
const path = fileURLToPath(new URL('src/core/backend.ts', repository))
const folder = fileURLToPath(repository)

function complaintsAbout(text: string): string[] {
  const { options } = ts.parseJsonConfigFileContent(ts.readConfigFile(`${folder}tsconfig.json`, ts.sys.readFile).config, ts.sys, folder)
  const host = ts.createCompilerHost(options)
  const read = host.getSourceFile
  host.getSourceFile = (name, ...rest) => (name === path ? ts.createSourceFile(name, text, ts.ScriptTarget.ESNext) : read(name, ...rest))
  const program = ts.createProgram([path], { ...options, noEmit: true, incremental: false, composite: false }, host)
  return program.getSemanticDiagnostics(program.getSourceFile(path)).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '))
}

it('a backend that takes no position on what it can do does not compile, nor does a row that leaves something out', { timeout: 120_000 }, () => {
  const changes: [from: string, to: string][] = [
    ["| { readonly backend: 'ssh';", "| { readonly backend: 'moon'; readonly supervised: boolean }\n  | { readonly backend: 'ssh';"],
    ['  readonly suspendable: boolean\n', '  readonly suspendable: boolean\n  readonly hasMoon: boolean\n'],
  ]
  const text = changes.reduce((before, [from, to]) => {
    expect(before).toContain(from)
    return before.replace(from, to)
  }, ts.sys.readFile(path) ?? '')
  const complaints = complaintsAbout(text)
  expect(complaints.filter((complaint) => /"moon".* does not satisfy the expected type 'never'/.test(complaint))).toHaveLength(1)
  // Of the host, and of what all others have in common.
  expect(complaints.filter((complaint) => complaint.includes("'hasMoon' is missing"))).toHaveLength(2)
})
