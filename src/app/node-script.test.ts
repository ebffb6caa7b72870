import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { resolveProgram } from './command.ts'

let cwd: string
let folder: string
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'holdfast-node-'))
  folder = join(cwd, 'run')
  mkdirSync(folder)
  mkdirSync(join(cwd, 'node_modules', 'pkg'), { recursive: true })
  writeFileSync(join(cwd, 'node_modules', 'pkg', 'package.json'), '{ "type": "module", "exports": "./index.js" }')
  writeFileSync(join(cwd, 'node_modules', 'pkg', 'index.js'), "export const name = 'pkg'\n")
  writeFileSync(join(cwd, 'local.mjs'), "export const name = 'local'\n")
})
afterEach(() => rmSync(cwd, { recursive: true, force: true }))

function runNode(script: string) {
  const [program, ...args] = resolveProgram({ script, runtime: 'node' }, {}).prepare(folder)
  const { status, stdout, stderr } = spawnSync(program, args, { cwd, encoding: 'utf8' })
  return { status, stdout, stderr }
}

describe('a script for node', () => {
  for (const [what, script, printed] of [
    ['requires', "const fs = require('node:fs'); console.log(typeof fs.readFileSync)", 'function\n'],
    ['imports, beside the working directory', "import { name } from './local.mjs'; import * as pkg from 'pkg'; console.log(name, pkg.name)", 'local pkg\n'],
    ['exports', 'export const a = 1; console.log(a)', '1\n'],
    ['awaits at its top', 'const x = await Promise.resolve(3)\nconsole.log(x)', '3\n'],
    ['awaits at its top, within a call', '#!/usr/bin/env node\nconsole.log(await Promise.resolve(3))', '3\n'],
    ['loops over what comes', 'for await (const x of [1, 2]) console.log(x)', '1\n2\n'],
    ['imports later, beside the working directory', "import('./local.mjs').then(({ name }) => console.log(name))", 'local\n'],
    ['imports a package later', "setTimeout(() => import('pkg').then(({ name }) => console.log(name)), 1)", 'pkg\n'],
    ['begins with a line for the shell', '#!/usr/bin/env node\nconsole.log(1)', '1\n'],
    ['ends in a comment', 'console.log(1) // here', '1\n'],
    ['has names of its own for what is global', 'const process = 1, fetch = 2; console.log(process + fetch)', '3\n'],
  ] as const) {
    it(`that ${what} prints what it prints and nothing else`, () => {
      expect(runNode(script)).toEqual({ status: 0, stdout: printed, stderr: '' })
    })
  }

  it('that throws, or cannot be read, fails and names its file and line', () => {
    for (const script of ['\nthrow new Error("boom")', '\nthis is not a script', '\nJSON.parse("{")']) {
      const { status, stderr } = runNode(script)
      expect({ script, status }).toEqual({ script, status: 1 })
      expect(stderr, script).toContain(`${join(folder, 'script.mjs')}:2`)
    }
  })

  it('that throws a syntax error of its own is not run twice', () => {
    expect(runNode('console.log("once"); throw new SyntaxError("Cannot use import statement outside a module")').stdout).toBe('once\n')
  })
})
