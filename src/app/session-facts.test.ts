import { execFileSync } from 'node:child_process'
import { appendFileSync, closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openWorld } from '../../test/support/world.ts'
import { factsOf } from '../context/session-facts.ts'
import type { Activity } from '../core/activity.ts'
import { collectSessions, listSessions, markPending, readRecorded, recordActivities, sessionFolder, takePending, takeTurn } from './session-facts.ts'

const plain = (text: string): string => text
const asked = (text: string): Activity => ({ kind: 'request', text })
const edit = (path: string): Activity => ({
  kind: 'tool',
  tool: { name: 'Edit', action: 'edit', command: null, paths: [path], failed: false, message: null, result: null, background: null },
})

describe('what is recorded of a session', () => {
  it('comes back in its order, private, and without what an agent only said', async () => {
    await using world = openWorld()
    const folder = sessionFolder(world.home, 'codex', 's1')
    recordActivities(folder, [asked('first')], plain)
    recordActivities(folder, [{ kind: 'statement', text: 'I decided it.' }, edit('/a'), { kind: 'background-ended', id: 'b' }], plain)
    expect(readRecorded(folder)).toEqual([asked('first'), asked('first'), edit('/a'), { kind: 'background-ended', id: 'b' }])
    for (const name of readdirSync(folder.path)) expect(statSync(join(folder.path, name)).mode & 0o777).toBe(0o600)
  })

  it('loses a line that was cut, and no other', async () => {
    await using world = openWorld()
    const folder = sessionFolder(world.home, 'codex', 's1')
    recordActivities(folder, [edit('/a')], plain)
    appendFileSync(folder.facts, '\n{"kind":"tool","tool":{"na')
    recordActivities(folder, [edit('/b')], plain)
    appendFileSync(folder.facts, '\n{"kind":"tool","tool":{"name":7}}\nnull\n{"kind":"todos","todos":[null]}\n{"kind":"future"}\n')
    expect(readRecorded(folder)).toEqual([edit('/a'), edit('/b')])
  })

  it('is not written into a pipe that stands in its place, nor waited for', async () => {
    await using world = openWorld()
    const folder = sessionFolder(world.home, 'codex', 's1')
    mkdirSync(folder.path, { recursive: true })
    for (const path of [folder.facts, folder.led]) execFileSync('mkfifo', [path])
    const reader = openSync(folder.facts, 'r+')
    expect(() => recordActivities(folder, [edit('/a')], plain)).toThrow('is a pipe, a socket or a device')
    expect(takeTurn(folder, 0, new Date())).toBe(true)
    expect(statSync(folder.led).isFile()).toBe(true)
    closeSync(reader)
  })

  it('has a bound, and keeps the task past it', async () => {
    await using world = openWorld()
    const folder = sessionFolder(world.home, 'codex', 's1')
    recordActivities(folder, [asked('the task')], plain)
    for (let i = 0; i < 400; i += 1)
      recordActivities(
        folder,
        Array.from({ length: 5 }, (_, k) => edit(`/${i}/${k}/${'長'.repeat(500)}`)),
        plain,
      )
    const bytes = readdirSync(folder.path).reduce((sum, name) => sum + statSync(join(folder.path, name)).size, 0)
    expect(bytes).toBeLessThan(300 * 1024)
    const facts = factsOf(readRecorded(folder))
    expect(facts.task).toBe('the task')
    expect(facts.files[0]?.path).toContain('/399/')
  })

  it('is masked whole before it is cut', async () => {
    await using world = openWorld()
    const folder = sessionFolder(world.home, 'codex', 's1')
    recordActivities(folder, [asked(`${'x'.repeat(990)}SECRET-VALUE`)], (text) => text.replaceAll('SECRET-VALUE', '[masked]'))
    expect(readFileSync(folder.facts, 'utf8')).not.toContain('SECRET')
  })

  it.each(['../../up', 'a/b', '', '.', '..', 'x'.repeat(500), 'ü', 'a\0b', '\n'])('stays in its folder, whatever the session is called: %j', async (name) => {
    await using world = openWorld()
    const folder = sessionFolder(world.home, 'codex', name)
    recordActivities(folder, [asked('x')], plain)
    expect(readdirSync(join(world.home, 'sessions'))).toHaveLength(1)
    expect(readRecorded(folder)).not.toEqual([])
  })
})

describe('sessions', () => {
  it('are listed with the latest first, and the oldest and too many go', async () => {
    await using world = openWorld()
    const now = new Date('2026-06-01T00:00:00Z')
    for (let i = 0; i < 60; i += 1) {
      const folder = sessionFolder(world.home, 'pi', `s${i}`)
      recordActivities(folder, [asked('x')], plain)
      const at = new Date(now.getTime() - (i < 3 ? 40 - i : 1) * 86_400_000 + i * 1_000)
      utimesSync(folder.facts, at, at)
    }
    expect(listSessions(world.home)[0]?.folder.path).toMatch(/pi-s59$/)
    expect(collectSessions(world.home, now)).toBe(10)
    expect(listSessions(world.home)).toHaveLength(50)
    expect(existsSync(sessionFolder(world.home, 'pi', 's0').path)).toBe(false)
    expect(collectSessions(world.home, now)).toBe(0)
  })

  it('are none where something else is in the way', async () => {
    await using world = openWorld()
    expect(listSessions(world.home)).toEqual([])
    writeFileSync(join(world.home, 'sessions'), '')
    expect(listSessions(world.home)).toEqual([])
    expect(collectSessions(world.home, new Date())).toBe(0)
  })

  it('get their page once, and a turn only now and then', async () => {
    await using world = openWorld()
    const folder = sessionFolder(world.home, 'cursor', 's')
    mkdirSync(folder.path, { recursive: true })
    expect(takePending(folder)).toBe(false)
    markPending(folder)
    markPending(folder)
    expect([takePending(folder), takePending(folder)]).toEqual([true, false])
    expect([takeTurn(folder, 60_000, new Date()), takeTurn(folder, 60_000, new Date())]).toEqual([true, false])
    expect(takeTurn(folder, 60_000, new Date(Date.now() + 120_000))).toBe(true)
  })
})
