import { realpathSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { displayArgv, type ResolvedCommand } from '../core/command.ts'
import { failure } from '../core/errors.ts'
import { fromRoot, isInside } from '../core/paths.ts'
import { headBytes } from '../core/text.ts'
import type { ExecInput } from './api.ts'

/** What can run a script. Its path is put behind `argv`. */
export interface Runtime {
  readonly argv: readonly [string, ...string[]]
  readonly file: string
}

export type Runtimes = Readonly<Record<string, readonly string[]>>

// node -e and python -c look for modules in the working directory; a script file would look beside itself. So a few fixed
// lines load the file and run it the way -e and -c would: the script itself is never an argument of a process.
//
// For a module, where its imports are looked for is moved to the working directory. Anything else is run by an indirect eval,
// which, unlike vm.Script, lets import() work as in -e; it is compiled apart from that, to tell its own syntax errors.
const nodeLoader = `(() => {
const f = process.argv.pop(), s = require('node:fs').readFileSync(f, 'utf8')
const compile = (text) => new (require('node:vm').Script)(text, { filename: f })
// The message for an await at the top depends on what stands around it.
const awaits = () => { try { return /\\bawait\\b/.test(s) && !!compile('(async () => {' + s.replace(/^#!.*/, '') + '\\n})') } catch { return false } }
let isModule = false
try {
  compile(s)
} catch (e) {
  isModule = e instanceof SyntaxError && (/import statement|import\\.meta|Unexpected token 'export'/.test(e.message) || awaits())
  if (!isModule) throw e
}
if (!isModule) return (0, eval)(s + '\\n//# sourceURL=' + f)
const url = require('node:url').pathToFileURL(f).href, here = require('node:url').pathToFileURL(process.cwd() + '/script').href
require('node:module').register('data:text/javascript,' + encodeURIComponent('export const resolve = (s, c, n) => n(s, c.parentURL === ' +
  JSON.stringify(url) + ' ? { ...c, parentURL: ' + JSON.stringify(here) + ' } : c)'))
import(url)
})()`
// In the module __main__ itself, so that what the script defines is found there by others (pickle, multiprocessing).
const pythonLoader =
  "import sys; __file__ = sys.argv.pop(); exec((lambda code, _: code)(compile(open(__file__, 'rb').read(), __file__, 'exec'), globals().pop('sys')))"

function builtIn(name: string, isHere: boolean): Runtime | undefined {
  if (name === 'bash') return { argv: ['bash', '--noprofile', '--norc'], file: 'script.sh' }
  if (name === 'node') return { argv: [isHere ? ownNode() : 'node', '-e', nodeLoader, '--'], file: 'script.mjs' }
  // Unbuffered, so that a script that is cut short has not kept its last lines to itself.
  if (name === 'python') return { argv: ['python3', '-u', '-c', pythonLoader], file: 'script.py' }
  return undefined
}

// Inside another program that embeds Node, execPath is not node.
const ownNode = (): string => (basename(process.execPath) === 'node' ? process.execPath : 'node')

export const builtInRuntimes = ['bash', 'node', 'python'] as const

/** `isHere`: it is on this machine that the script runs. */
export function resolveRuntime(name: string, configured: Runtimes, isHere = true): Runtime {
  const argv = Object.hasOwn(configured, name) ? configured[name] : undefined
  if (argv?.[0]) return { argv: argv as [string, ...string[]], file: 'script' }
  const found = builtIn(name, isHere)
  if (!found) throw failure('runtime_unknown', { runtime: name, known: [...builtInRuntimes, ...Object.keys(configured)] })
  return found
}

/** The checked form of what a caller wants to run. */
export interface Program {
  /** Makes argv; a script is written to its file in `folder` first. */
  prepare(folder: string): readonly [string, ...string[]]
  /** The same for a folder that is somewhere else, with the file to be put there. */
  prepareFar(folder: string): Required<Pick<ResolvedCommand, 'argv' | 'files'>>
  readonly runtime: string | null
  /** As shown and stored, at most 4,096 bytes, not masked yet. */
  readonly display: string
  /** The same, all of it. */
  readonly whole: string
}

const maxDisplayBytes = 4096

export function resolveProgram(input: Pick<ExecInput, 'argv' | 'script' | 'runtime'>, configured: Runtimes, isHere = true): Program {
  const { argv, script } = input
  if (script !== undefined) {
    if (argv !== undefined) throw failure('invalid', { field: 'script', value: script, accepted: 'a script or a program with arguments, not both' })
    if (script.trim() === '' || script.includes('\0'))
      throw failure('invalid', { field: 'script', value: script, accepted: 'a text that is not empty and has no NUL' })
    const name = input.runtime ?? 'bash'
    const runtime = resolveRuntime(name, configured, isHere)
    return {
      runtime: name,
      display: headBytes(script, maxDisplayBytes),
      whole: script,
      prepare(folder) {
        const file = join(folder, runtime.file)
        writeFileSync(file, script, { mode: 0o600 })
        return [...runtime.argv, file]
      },
      prepareFar: (folder) => ({
        argv: [...runtime.argv, `${folder}/${runtime.file}`],
        files: [{ name: runtime.file, bytes: Buffer.from(script) }],
      }),
    }
  }
  if (!argv?.[0]) throw failure('invalid', { field: 'argv', value: argv, accepted: 'a program with its arguments, or a script' })
  argv.forEach((argument, i) => {
    if (typeof argument !== 'string' || argument.includes('\0'))
      throw failure('invalid', { field: `argument ${i}`, value: argument, accepted: 'text without NUL' })
  })
  const whole = displayArgv(argv)
  return {
    runtime: null,
    display: headBytes(whole, maxDisplayBytes),
    whole,
    prepare: () => argv as [string, ...string[]],
    prepareFar: () => ({ argv: argv as [string, ...string[]], files: [] }),
  }
}

/** The working directory as an absolute path with all links followed, inside the root. */
export async function resolveCwd(root: string, base: string, cwd: string | undefined): Promise<string> {
  if (cwd?.includes('\0')) throw failure('invalid', { field: 'cwd', value: cwd, accepted: 'a path without NUL' })
  const asked = fromRoot(base, cwd ?? '.')
  const realRoot = realOr(root)
  const real = asked === root ? realRoot : realOr(asked)
  if (realRoot === undefined) throw failure('cwd_missing', { cwd: root })
  if (real === undefined) {
    // What does not exist cannot be followed; a path that leads out by its text is refused as such.
    if (!isInside(root, asked) && !isInside(realRoot, asked)) throw failure('cwd_outside', { cwd: asked, root })
    throw failure('cwd_missing', { cwd: asked })
  }
  if (!isInside(realRoot, real)) throw failure('cwd_outside', { cwd: asked, root })
  if (!statSync(real).isDirectory()) throw failure('cwd_not_directory', { cwd: asked })
  return real
}

// Not in a thread of the pool: on a busy machine the way there and back takes longer than the look itself.
export function realOr(path: string): string | undefined {
  try {
    return realpathSync.native(path)
  } catch {
    return undefined
  }
}
