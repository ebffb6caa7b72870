import { posix } from 'node:path'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import { isTest, listSources, type Source } from './sources.ts'

/** Which rooms a room may import besides itself. `*` is every room. docs/architecture.md says the same in words. */
const mayImport: Record<string, readonly string[] | '*'> = {
  core: [],
  process: ['core'],
  digest: ['core'],
  config: ['core'],
  stores: ['core'],
  engine: ['core'],
  supervisor: ['process', 'core'],
  remote: ['supervisor', 'core'],
  'backends/host': ['supervisor', 'process', 'core'],
  'backends/docker': ['core'],
  'backends/ssh': ['process', 'core'],
  'backends/kubernetes': ['process', 'core'],
  git: ['core'],
  workspaces: ['git', 'core'],
  files: ['core'],
  context: ['core'],
  providers: ['core'],
  hosts: ['core'],
  app: ['engine', 'workspaces', 'files', 'git', 'digest', 'context', 'providers', 'hosts', 'config', 'core'],
  operations: ['app', 'core'],
  'surfaces/mcp': ['operations', 'app', 'core'],
  'surfaces/acp': ['surfaces/mcp', 'app', 'core'],
  'surfaces/cli': ['surfaces/mcp', 'surfaces/acp', 'compose', 'operations', 'app', 'providers', 'hosts', 'core'],
  compose: '*',
  'open-target': '*',
  index: '*',
}
/** Words for streams are no I/O. */
const onlyTypes = (text: string, name: string): boolean => !new RegExp(`import (?!type )[^;\\n]* from '${name}'`).test(text)
const pureBuiltins = ['node:path', 'node:util', 'node:url', 'node:string_decoder']

/** `src/engine/settle.ts` is in `engine`, `src/backends/host/session.ts` in `backends/host`, `src/compose.ts` in `compose`. */
function roomOf(path: string): string {
  const parts = path.replace(/^src\//, '').split('/')
  if (parts.length === 1) return posix.basename(path, '.ts')
  return (parts[0] === 'backends' || parts[0] === 'surfaces') && parts.length > 2 ? `${parts[0]}/${parts[1]}` : (parts[0] ?? '')
}

/** What a source does that it may not, one sentence for each. Tests may import what they like. */
function violationsOf({ path, text }: Source): string[] {
  if (isTest(path)) return []
  const room = roomOf(path)
  const allowed = mayImport[room]
  if (allowed === undefined) return [`${path} is in a room that the import rule does not know: ${room}`]
  const found: string[] = []
  for (const { fileName: name } of ts.preProcessFile(text, true, true).importedFiles) {
    if (name.startsWith('.')) {
      const target = roomOf(posix.join(posix.dirname(path), name))
      if (target !== room && allowed !== '*' && !allowed.includes(target)) found.push(`${path} imports ${name}: ${room} may not import ${target}`)
    } else if (name.endsWith('child_process') && room !== 'process') {
      found.push(`${path} imports ${name}: only process/ starts programs`)
    } else if (room === 'core' && !pureBuiltins.includes(name) && !(name === 'node:stream' && onlyTypes(text, name))) {
      found.push(`${path} imports ${name}: core does no I/O and has no dependency`)
    }
  }
  const code = text.replace(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm, '')
  if (/\bprocess\.env\b|\bprocess\[.env|from 'node:process'/.test(code) && room !== 'compose' && room !== 'surfaces/cli') {
    found.push(`${path} reads the environment: only compose.ts and surfaces/cli may`)
  }
  return found
}

describe('the import rule', () => {
  it('holds in every source', () => {
    expect(listSources().flatMap(violationsOf)).toEqual([])
  })

  it.each([
    ['a lower room that imports a higher one', 'src/engine/made-up.ts', "import { exec } from '../app/exec.ts'"],
    ['a type-only import', 'src/core/made-up.ts', "import type { App } from '../app/api.ts'"],
    ['a dynamic import', 'src/app/made-up.ts', "const store = await import('../stores/sqlite.ts')"],
    ['a re-export', 'src/digest/made-up.ts', "export { start } from '../process/launch.ts'"],
    ['a backend that imports the engine', 'src/backends/host/made-up.ts', "import { settle } from '../../engine/settle.ts'"],
    ['a program started outside process/', 'src/git/made-up.ts', "import { spawn } from 'node:child_process'"],
    ['I/O in core', 'src/core/made-up.ts', "import { readFileSync } from 'node:fs'"],
    ['the environment read outside its two places', 'src/app/made-up.ts', 'const home = process.env.HOME'],
    ['a room without a rule', 'src/attic/made-up.ts', ''],
  ])('finds %s', (_, path, text) => {
    expect(violationsOf({ path, text })).toHaveLength(1)
  })

  it('lets pass what it allows', () => {
    const text =
      "// process.env is not read here\nimport { failure } from '../core/errors.ts'\nimport { list } from './other.ts'\nimport { join } from 'node:path'"
    expect(violationsOf({ path: 'src/app/made-up.ts', text })).toEqual([])
  })
})
