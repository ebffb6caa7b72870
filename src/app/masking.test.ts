import { existsSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { createMasking, keepPrintedSecrets, noteSecrets } from './masking.ts'
import { makeRunFolder, type RunFolder, runFolder } from './run-folder.ts'
import { newRunId } from './run-id.ts'

const runs = mkdtempSync(join(tmpdir(), 'masking-'))
afterAll(() => rmSync(runs, { recursive: true }))

const printed = ['printed', 'value'].join('-')
const silent = ['silent', 'value'].join('-')
let folder: RunFolder

beforeEach(() => {
  folder = runFolder(runs, newRunId())
  makeRunFolder(folder)
  writeFileSync(folder.stderr, '')
})

describe('createMasking', () => {
  it('shows nothing of a text on which a configured pattern would never end', () => {
    const { general } = createMasking({ secrets: [], patterns: [/^(a+)+$/] })
    expect(general.mask(`${'a'.repeat(60)}!\nb`).split('\n')).toHaveLength(2)
    expect(general.mask(`${'a'.repeat(60)}!\nb`)).not.toContain('aaa')
    expect(general.mask('plain')).toBe('plain')
  }, 30_000)
})

describe('keepPrintedSecrets', () => {
  it('keeps only what the logs hold anyway, so that others mask it too', () => {
    noteSecrets(folder, [printed, silent])
    writeFileSync(folder.stdout, `token ${printed}\n`)
    keepPrintedSecrets(folder, [printed, silent])
    expect(readFileSync(folder.masked, 'utf8')).toBe(JSON.stringify([printed]))
    const masking = createMasking({ secrets: [], patterns: [] })
    expect(masking.general.mask(printed)).toBe(printed)
    expect(masking.forRun(folder).mask(`say ${printed}`)).toBe('say [masked]')
  })

  it('leaves nothing where nothing was printed', () => {
    noteSecrets(folder, [silent])
    writeFileSync(folder.stdout, 'nothing\n')
    keepPrintedSecrets(folder, [silent])
    expect(existsSync(folder.masked)).toBe(false)
  })

  it('keeps what is printed with colours in it, since it is shown without them', () => {
    writeFileSync(folder.stderr, `\u001b[1m${printed.slice(0, 5)}\u001b[0m${printed.slice(5)}\n`)
    keepPrintedSecrets(folder, [printed, silent])
    expect(readFileSync(folder.masked, 'utf8')).toBe(JSON.stringify([printed]))
  })

  it('keeps all of a log that is too long to look through', () => {
    writeFileSync(folder.stdout, '')
    truncateSync(folder.stdout, 300 * 1024 ** 2)
    keepPrintedSecrets(folder, [printed, 'short', printed])
    expect(readFileSync(folder.masked, 'utf8')).toBe(JSON.stringify([printed]))
  })

  it('keeps what may still come', () => {
    writeFileSync(folder.stdout, `here is ${printed}`)
    keepPrintedSecrets(folder, [printed, silent], [silent, printed])
    expect(readFileSync(folder.masked, 'utf8')).toBe(JSON.stringify([printed, silent]))
  })

  it('finds a secret across the border of the parts that are read', () => {
    for (let shift = 1; shift < printed.length; shift += 1) {
      writeFileSync(folder.stdout, 'x'.repeat(256 * 1024 - shift) + printed)
      rmSync(folder.masked, { force: true })
      keepPrintedSecrets(folder, [printed])
      expect(existsSync(folder.masked)).toBe(true)
    }
  })

  it('finds a secret across the files of a log that is not joined yet', () => {
    for (let shift = 2; shift < printed.length; shift += 1) {
      const head = `line\n${printed.slice(0, shift - 1)}`
      writeFileSync(folder.stdout, head)
      for (const [offset, text] of [
        [head.length, printed.slice(shift - 1, shift)],
        [head.length + 1, printed.slice(shift)],
      ] as const)
        writeFileSync(`${folder.stdout}.${offset}.1`, text)
      rmSync(folder.masked, { force: true })
      keepPrintedSecrets(folder, [printed])
      expect(existsSync(folder.masked), `${shift}`).toBe(true)
      for (const offset of [head.length, head.length + 1]) rmSync(`${folder.stdout}.${offset}.1`)
    }
  })
})
