import { execFileSync } from 'node:child_process'
import { existsSync, linkSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { appendPlain, makePlainFolder, readPlain, readPlainText, replacePlain } from './plain-file.ts'

let world: string
const at = (...parts: string[]): string => join(world, ...parts)

beforeEach(() => {
  world = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-plain-')))
})
afterEach(() => {
  rmSync(world, { recursive: true, force: true })
})

it('a pipe, a folder, a device and what is too large are refused at once in the place of a file that is read', () => {
  execFileSync('mkfifo', [at('pipe')])
  symlinkSync('/dev/zero', at('device'))
  writeFileSync(at('huge'), '')
  truncateSync(at('huge'), 2 ** 40)
  expect(() => readPlain(at('pipe'))).toThrow(/is a pipe, a socket or a device, not a file/)
  expect(() => readPlain(at('device'))).toThrow(/is a pipe, a socket or a device, not a file/)
  expect(() => readPlain(world)).toThrow(/is a folder, not a file/)
  expect(() => readPlain(at('huge'))).toThrow(/at most 16777216 are handled/)
  expect(() => readPlain(at('missing'))).toThrow(expect.objectContaining({ code: 'ENOENT' }))
})

it('a file is read whole, also through a link', () => {
  writeFileSync(at('file'), 'all of it')
  symlinkSync('file', at('link'))
  expect(readPlainText(at('link'), 9)).toBe('all of it')
})

it('what was put in the place of the temporary file is not written through', () => {
  writeFileSync(at('victim'), 'precious')
  symlinkSync(at('victim'), at('file.new'))
  symlinkSync(at('victim'), at('file'))
  replacePlain(at('file'), 'new')
  expect([readFileSync(at('file'), 'utf8'), readFileSync(at('victim'), 'utf8'), existsSync(at('file.new'))]).toEqual(['new', 'precious', false])
  execFileSync('mkfifo', [at('file.new')])
  replacePlain(at('file'), 'newer')
  expect(readFileSync(at('file'), 'utf8')).toBe('newer')
})

it('nothing is added to what is reached by a link, has other names, or is a pipe', () => {
  writeFileSync(at('victim'), 'precious')
  symlinkSync(at('victim'), at('link'))
  linkSync(at('victim'), at('twin'))
  execFileSync('mkfifo', [at('pipe')])
  for (const name of ['link', 'twin', 'pipe']) expect(() => appendPlain(at(name), 'x')).toThrow()
  expect(readFileSync(at('victim'), 'utf8')).toBe('precious')
  appendPlain(at('new'), 'a')
  appendPlain(at('new'), 'b')
  expect(readFileSync(at('new'), 'utf8')).toBe('ab')
})

it('no folder is made where a link leads', () => {
  mkdirSync(at('elsewhere'))
  mkdirSync(at('top'))
  symlinkSync(at('elsewhere'), at('top', 'a'))
  expect(() => makePlainFolder(at('top'), at('top', 'a', 'b'))).toThrow(/is a link, not a folder/)
  expect(existsSync(at('elsewhere', 'b'))).toBe(false)
  makePlainFolder(at('top'), at('top', 'c', 'd'))
  makePlainFolder(at('top'), at('top', 'c', 'd'))
  expect(existsSync(at('top', 'c', 'd'))).toBe(true)
})
