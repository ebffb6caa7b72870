import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { resolveCwd, resolveProgram, resolveRuntime } from './command.ts'

const root = mkdtempSync(join(tmpdir(), 'command-'))
afterAll(() => rmSync(root, { recursive: true }))

describe('resolveProgram', () => {
  it('shows argv as it would be typed and hands it on unchanged', () => {
    const program = resolveProgram({ argv: ['grep', "it's", '', '-n'] }, {})
    expect(program.display).toBe(`grep 'it'\\''s' '' -n`)
    expect(program.prepare(root)).toEqual(['grep', "it's", '', '-n'])
  })

  it('puts a script into a file, so that it is no argument of a process', () => {
    const script = 'echo x\n'.repeat(200_000)
    const argv = resolveProgram({ script }, {}).prepare(root)
    expect(readFileSync(argv.at(-1) as string, 'utf8')).toBe(script)
    expect(argv.join(' ').length).toBeLessThan(1_000)
    expect(Buffer.byteLength(resolveProgram({ script }, {}).display)).toBeLessThanOrEqual(4_096)
  })

  it.each([
    [{}, /^argv is /],
    [{ argv: [] }, /^argv is /],
    [{ argv: ['a', 'b\0c'] }, /^argument 1 is /],
    [{ script: ' \n' }, /^script is /],
    [{ script: 'a\0b' }, /^script is /],
    [{ script: 'x', argv: ['x'] }, /^script is .*not both/],
    [{ script: 'x', runtime: 'ruby' }, /^runtime is "ruby"; accepted: bash, node, python, /],
    [{ script: 'x', runtime: 'constructor' }, /^runtime is "constructor"/],
  ])('refuses %j with one clear sentence', (input, message) => {
    expect(() => resolveProgram(input, {})).toThrow(message)
  })

  it('takes an interpreter that the configuration names, also in place of a built-in one', () => {
    expect(resolveRuntime('ruby', { ruby: ['ruby', '-W0'] }).argv).toEqual(['ruby', '-W0'])
    expect(resolveRuntime('python', { python: ['/opt/python'] }).argv).toEqual(['/opt/python'])
  })
})

describe('resolveCwd', () => {
  mkdirSync(join(root, 'inside'))
  writeFileSync(join(root, 'file'), '')
  symlinkSync('/', join(root, 'out'))
  symlinkSync('inside', join(root, 'link'))

  it('is the base where nothing is said, and follows links inside', async () => {
    expect(await resolveCwd(root, join(root, 'inside'), undefined)).toBe(join(root, 'inside'))
    expect(await resolveCwd(root, root, 'link')).toBe(join(root, 'inside'))
    expect(await resolveCwd(root, join(root, 'inside'), '..')).toBe(root)
  })

  it.each([
    ['..', 'invalid_argument'],
    ['/', 'invalid_argument'],
    ['out', 'invalid_argument'],
    ['out/tmp', 'invalid_argument'],
    ['../../nowhere', 'invalid_argument'],
    ['a\0b', 'invalid_argument'],
    ['missing', 'not_found'],
    ['file', 'failed_precondition'],
  ])('refuses %j', async (cwd, code) => {
    await expect(resolveCwd(root, root, cwd)).rejects.toMatchObject({ code })
  })

  it('names the root when that is what is missing', async () => {
    await expect(resolveCwd(join(root, 'gone'), join(root, 'gone'), undefined)).rejects.toThrow(`${join(root, 'gone')} does not exist`)
  })
})
