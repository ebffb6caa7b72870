import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { describeStore } from '../../../test/conformance/store.ts'
import { openSqliteStore } from './open.ts'

let dir = ''
let count = 0
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'holdfast-store-'))
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

const nextPath = (): string => join(dir, `store-${++count}.db`)

describeStore('in SQLite', async () => (await openSqliteStore(nextPath())).store)
describeStore('in SQLite without a write-ahead log', async () => (await openSqliteStore(nextPath(), { journal: 'delete' })).store)
