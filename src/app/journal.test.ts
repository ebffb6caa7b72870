import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { everyRun, listJournals, openJournal, readJournal, removeJournal, saysSomething } from './journal.ts'

const self = { pid: 4_000_001, startTime: 'Mon Mar 14 10:00:00 2026' }
const [a, b] = ['aaaaaaaaaaaa', 'bbbbbbbbbbbb'] as const
let home = ''
let folder = ''
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'holdfast-journal-'))
  folder = join(home, 'pending')
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

const read = (name: string, alive = true) => readJournal(folder, name, ({ pid, startTime }) => alive && pid === self.pid && startTime === self.startTime)

it('is there with its first line, says whose it is, and is gone when everything is known', () => {
  const journal = openJournal(folder, self)
  expect(existsSync(folder)).toBe(false)
  expect([journal.note(a), journal.note(b), journal.note(everyRun)]).toEqual([true, true, true])
  expect(listJournals(folder, undefined)).toEqual([journal.name])
  expect(listJournals(folder, journal.name)).toEqual([])
  expect(read(journal.name)).toMatchObject({ ids: [a, b], everyRun: true, abandoned: false })
  expect(read(journal.name, false)).toMatchObject({ ids: [a, b], abandoned: true })
  journal.clear()
  expect([saysSomething(folder, journal.name), read(journal.name)?.ids]).toEqual([false, []])
  journal.note(b)
  expect(read(journal.name)).toMatchObject({ text: `${b}\n`, ids: [b] })
  journal.clear()
  journal.close(true)
  expect(existsSync(folder)).toBe(false)
})

it('stays when its process lets go of it with something untold, and is everybody’s then', () => {
  const journal = openJournal(folder, self)
  journal.note(a)
  journal.close(false)
  expect(read(journal.name)).toMatchObject({ ids: [a], abandoned: true })
  removeJournal(folder, journal.name)
  expect(existsSync(folder)).toBe(false)
})

it('has a name of its own for each one of a process, and no name of anybody else', () => {
  const journals = [openJournal(folder, self), openJournal(folder, self)]
  for (const journal of journals) journal.note(a)
  writeFileSync(join(folder, 'a file of somebody'), a)
  expect(listJournals(folder, undefined).sort()).toEqual(journals.map(({ name }) => name).sort())
  for (const journal of journals) journal.close(true)
  expect(readdirSync(folder)).toEqual(['a file of somebody'])
})

it('is made again with its next line when its folder was removed', () => {
  const journal = openJournal(folder, self)
  journal.note(a)
  rmSync(folder, { recursive: true })
  // The index went with the folder, so that the rest of this moment need not be noted.
  expect(journal.note(a)).toBe(true)
  journal.clear()
  expect(journal.note(b)).toBe(true)
  expect(read(journal.name)?.ids).toEqual([b])
})

it('says that it could not note where its folder cannot be made, and makes no folder above it', () => {
  rmSync(home, { recursive: true })
  expect(openJournal(folder, self).note(a)).toBe(false)
  expect(existsSync(home)).toBe(false)
  mkdirSync(home)
  writeFileSync(folder, 'no folder')
  const journal = openJournal(folder, self)
  expect(journal.note(a)).toBe(false)
  journal.clear()
  journal.close(false)
  expect(readFileSync(folder, 'utf8')).toBe('no folder')
})

it('is understood as far as its lines are whole', () => {
  const journal = openJournal(folder, self)
  journal.note(a)
  appendFileSync(join(folder, journal.name), `${b.slice(0, 5)}\n\n../../etc\n${b}${b}\n${b}\n${b}\n${b.slice(1)}`)
  expect(read(journal.name)?.ids).toEqual([a, b])
})
