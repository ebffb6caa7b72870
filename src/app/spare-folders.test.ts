import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { turn, until } from '../../test/support/clock.ts'
import { runFolder } from './run-folder.ts'
import { newRunId } from './run-id.ts'
import { openSpareFolders, type SpareFolders } from './spare-folders.ts'

const self = { pid: 4_000_001, startTime: 'x' }
let home = ''
let at = ''
const opened: SpareFolders[] = []
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'holdfast-ahead-'))
  at = join(home, 'ahead')
  mkdirSync(join(home, 'runs'))
})
afterEach(() => {
  for (const folders of opened.splice(0)) folders.close()
  rmSync(home, { recursive: true, force: true })
})

function open(isAlive = true): SpareFolders {
  const folders = openSpareFolders(at, async () => ({ self, isAlive: () => isAlive }), Number.POSITIVE_INFINITY)
  opened.push(folders)
  return folders
}
const folderOf = (id: string) => runFolder(join(home, 'runs'), id)
const ahead = (): string[] => (existsSync(at) ? readdirSync(at) : [])

/** As after two runs. */
async function openReady(): Promise<SpareFolders> {
  const folders = open()
  folders.ask()
  folders.ask()
  await turn()
  return folders
}

it('are not made for a first run, and for each later one while it runs', async () => {
  const folders = open()
  expect(folders.take(folderOf('aaaaaaaaaaaa'), 'x')).toBe(false)
  folders.ask()
  await turn()
  expect(ahead()).toEqual([])
  for (let i = 0; i < 5; i += 1) {
    folders.ask()
    await turn()
  }
  expect(ahead()).toHaveLength(2)
})

it('become the folder of a run, for its owner only, with all of its record', async () => {
  const folders = await openReady()
  const folder = folderOf('aaaaaaaaaaaa')
  const record = `${JSON.stringify({ id: 'aaaaaaaaaaaa', purpose: 'grüße 日本 🔥' })}\n`
  expect(folders.take(folder, record)).toBe(true)
  expect(readdirSync(folder.path)).toEqual(['run.json'])
  expect(readFileSync(folder.record, 'utf8')).toBe(record)
  expect([statSync(folder.path).mode & 0o777, statSync(folder.record).mode & 0o777]).toEqual([0o700, 0o600])
  expect(ahead()).toEqual([])
})

it('are made beside this thread where that takes long', async () => {
  const folders = openSpareFolders(at, async () => ({ self, isAlive: () => true }), -1)
  opened.push(folders)
  folders.ask()
  await until(() => {
    folders.ask()
    return ahead().length === 2
  })
  await until(() => {
    const id = newRunId()
    return folders.take(folderOf(id), 'record') && readFileSync(folderOf(id).record, 'utf8') === 'record'
  })
})

it('never take the place of another run', async () => {
  const folders = await openReady()
  const folder = folderOf('aaaaaaaaaaaa')
  mkdirSync(folder.path)
  writeFileSync(folder.record, 'of somebody else')
  expect(folders.take(folder, 'x')).toBe(false)
  expect(readFileSync(folder.record, 'utf8')).toBe('of somebody else')
  expect(ahead()).toEqual([])
})

it('are no use where the home is gone, which is not made again', async () => {
  const folders = await openReady()
  rmSync(home, { recursive: true })
  expect(folders.take(folderOf('aaaaaaaaaaaa'), 'x')).toBe(false)
  folders.ask()
  await turn()
  expect(existsSync(home)).toBe(false)
})

it('are gone when their process closes, or with the next one when it was killed', async () => {
  const folders = await openReady()
  expect(ahead()).toHaveLength(1)
  folders.close()
  folders.ask()
  await turn()
  expect(ahead()).toEqual([])
  mkdirSync(join(at, '77.0.long-ago'))
  writeFileSync(join(at, '77.0.long-ago', 'run.json'), '')
  mkdirSync(join(at, 'not ours'))
  const next = open(false)
  next.ask()
  next.ask()
  await turn()
  expect(ahead()).not.toContain('77.0.long-ago')
  expect(ahead()).toContain('not ours')
})
