import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { closingLine } from './reporter.ts'

const repository = new URL('../..', import.meta.url).pathname
const folders: string[] = []

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

/** Runs vitest with the reporter on made-up files; gives its exit code and the last line that it printed. */
async function lastLineOf(files: Record<string, string>): Promise<{ code: number; last: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-reporter-'))
  folders.push(folder)
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  const vitest = join(repository, 'node_modules/vitest/vitest.mjs')
  const args = [vitest, 'run', '--globals', '--root', folder, '--reporter=default', `--reporter=${join(repository, 'test/support/reporter.ts')}`]
  return new Promise((resolve) => {
    // The counts of the run that this test is part of must not be overwritten by the inner one.
    execFile(process.execPath, args, { env: { ...process.env, HOLDFAST_COUNTS: '' } }, (error, stdout) => {
      resolve({ code: error ? Number(error.code) : 0, last: stdout.trimEnd().split('\n').at(-1) ?? '' })
    })
  })
}

it('counts passed, failed and skipped tests, and an expected failure as passed', async () => {
  const result = await lastLineOf({
    'a.test.js': `
      it('passes', () => {})
      it.fails('is known to fail', () => { throw new Error('known') })
      it.skip('is left out', () => {})
      it('fails', () => { throw new Error('unknown') })
    `,
  })
  expect(result).toEqual({ code: 1, last: '2 passed, 1 failed, 1 skipped' })
})

it('says 0 failed when everything passed', async () => {
  expect(await lastLineOf({ 'a.test.js': `it('passes', () => {})` })).toEqual({ code: 0, last: '1 passed, 0 failed' })
})

it('counts a known failure that passes by now as failed', async () => {
  expect(await lastLineOf({ 'a.test.js': `it.fails('works by now', () => {})` })).toEqual({ code: 1, last: '0 passed, 1 failed' })
})

it('counts a file that cannot be loaded as failed', async () => {
  const result = await lastLineOf({ 'a.test.js': `it('passes', () => {})`, 'b.test.js': `throw new Error('at load')` })
  expect(result).toEqual({ code: 1, last: '1 passed, 1 failed' })
})

it('counts a hook that throws and an error that nothing caught as failed', async () => {
  const result = await lastLineOf({
    'a.test.js': `describe('group', () => { afterAll(() => { throw new Error('in a hook') }); it('passes', () => {}) })`,
    'b.test.js': `it('passes', () => { Promise.reject(new Error('nobody waits')) })`,
  })
  expect(result).toEqual({ code: 1, last: '2 passed, 2 failed' })
})

it('never says 0 failed when the run did not get as far as a test', async () => {
  const setup = `export default { test: { globalSetup: ['./setup.js'] } }`
  const result = await lastLineOf({ 'vitest.config.js': setup, 'setup.js': `throw new Error('set-up')`, 'a.test.js': `it('passes', () => {})` })
  expect(result).toEqual({ code: 1, last: '0 passed, 1 failed' })
  expect(await lastLineOf({})).toEqual({ code: 1, last: '0 passed, 1 failed' })
})

it('leaves skipped tests out of the line when there are none', () => {
  expect(closingLine({ passed: 3, failed: 0, skipped: 0 })).toBe('3 passed, 0 failed')
  expect(closingLine({ passed: 3, failed: 1, skipped: 2 })).toBe('3 passed, 1 failed, 2 skipped')
})
