import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runRecord } from '../../test/conformance/store.ts'
import type { RunRecord } from '../core/run.ts'
import { makeRunFolder, type RunFolder, readRecord, runFolder, writeProcess, writeRecord } from './run-folder.ts'
import { newRunId } from './run-id.ts'

const id = newRunId()
const record: RunRecord = runRecord(id)

let runs: string
let folder: RunFolder
beforeEach(() => {
  runs = mkdtempSync(join(tmpdir(), 'holdfast-run-'))
  folder = runFolder(runs, id)
  makeRunFolder(folder)
  writeRecord(folder, record)
})
afterEach(() => rmSync(runs, { recursive: true, force: true }))

describe('the files of a run', () => {
  it('tell the first process of a run that goes on, without the record being written again', () => {
    expect(readRecord(folder, id)?.process).toBeNull()
    writeProcess(folder, { pid: 42, startTime: 'boot:7' })
    expect(readRecord(folder, id)).toEqual({ ...record, process: { pid: 42, startTime: 'boot:7' } })
  })

  it('believe the record where it says the process itself, or that the run is over', () => {
    writeProcess(folder, { pid: 42, startTime: 'boot:7' })
    writeRecord(folder, { ...record, process: { pid: 5, startTime: 'boot:5' } })
    expect(readRecord(folder, id)?.process?.pid).toBe(5)
    writeRecord(folder, { ...record, state: 'ended' })
    expect(readRecord(folder, id)?.process).toBeNull()
  })

  it('replace a record without leaving anything beside it', () => {
    writeRecord(folder, { ...record, state: 'ended' })
    expect(readRecord(folder, id)?.state).toBe('ended')
    expect(readdirSync(folder.path)).toEqual(['run.json'])
  })
})
