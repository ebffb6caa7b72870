import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const repository = new URL('../..', import.meta.url).pathname

it('a first use without npm says what to install, and nothing about the network', () => {
  const checkout = mkdtempSync(join(tmpdir(), 'holdfast-first-'))
  try {
    const bin = join(checkout, 'bin')
    for (const folder of [bin, join(checkout, 'scripts')]) mkdirSync(folder)
    for (const file of ['holdfast', 'scripts/prepare.sh']) copyFileSync(join(repository, file), join(checkout, file))
    writeFileSync(join(checkout, 'package-lock.json'), '{}')
    symlinkSync(process.execPath, join(bin, 'node'))
    for (const tool of ['uname', 'mkdir', 'ln', 'readlink', 'rm', 'head', 'wc', 'sleep']) {
      symlinkSync(execFileSync('sh', ['-c', `command -v ${tool}`], { encoding: 'utf8' }).trim(), join(bin, tool))
    }
    const { status, stdout, stderr } = spawnSync('/bin/sh', [join(checkout, 'holdfast'), '--version'], { env: { PATH: bin }, encoding: 'utf8' })
    expect([status, stdout, stderr]).toEqual([125, '', 'holdfast: npm was not found; it comes with Node.js (https://nodejs.org)\n'])
    expect(existsSync(join(checkout, 'dist/.lock'))).toBe(false)
  } finally {
    rmSync(checkout, { recursive: true })
  }
})
