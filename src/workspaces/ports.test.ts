import { execFile } from 'node:child_process'
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { bundle } from '../../test/support/bundle.ts'
import { openGitWorld } from '../../test/support/git-world.ts'
import { makeWorkspace } from '../../test/support/made-workspace.ts'
import { keyOf } from './layout.ts'
import { freeOrphanPorts, freePorts, orphanReservations, portRange, portVariables, reservePorts } from './ports.ts'
import { removeRecord } from './records.ts'

/** No process has this identity. */
const dead = { pid: 2 ** 22 + 1, startTime: '1' }

const listen = (port: number): Promise<Server> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => resolve(server))
  })

it('a workspace has the same ports whenever it asks, others have others, and what is let go of is free again', async () => {
  await using world = openGitWorld()
  const context = world.context()
  const first = await reservePorts(context, { id: '0123456789', count: 3 })
  expect(new Set(first).size).toBe(3)
  for (const port of first) expect(port >= portRange.first && port < portRange.first + portRange.count).toBe(true)
  expect(await reservePorts(context, { id: '0123456789', count: 3 })).toEqual(first)
  const more = await reservePorts(context, { id: '0123456789', count: 5 })
  expect(more).toEqual(expect.arrayContaining([...first]))
  expect(await reservePorts(context, { id: 'abcdef0123', count: 2 })).not.toEqual(expect.arrayContaining([first[0]]))
  await freePorts(context, '0123456789')
  await freePorts(context, '0123456789')
  expect(await reservePorts(context, { id: '0123456789', count: 3 })).toEqual(first)
  expect(await reservePorts(context, { id: 'none', count: 0 })).toEqual([])
})

it('a port on which something listens is passed over', async () => {
  await using world = openGitWorld()
  const context = world.context()
  const [usual] = await reservePorts(context, { id: '0123456789', count: 1 })
  await freePorts(context, '0123456789')
  const server = await listen(usual as number)
  try {
    const [other] = await reservePorts(context, { id: '0123456789', count: 1 })
    expect(other).toBeGreaterThan(usual as number)
  } finally {
    server.close()
  }
})

it('however many ask at the same time, no port is given twice', async () => {
  await using world = openGitWorld()
  const context = world.context()
  // Ids whose places begin close to each other meet all the time: here all begin at the same one.
  const all = await Promise.all(Array.from({ length: 12 }, (_, n) => reservePorts(context, { id: `workspace${n}`, count: 4 })))
  expect(new Set(all.flat()).size).toBe(48)
  const files = readdirSync(join(context.root, '.ports')).filter((name) => /^\d+$/.test(name))
  expect(files.map(Number).sort()).toEqual(all.flat().sort())
})

it('several processes never have the same port, even where nothing but the files keeps them apart', async () => {
  await using world = openGitWorld()
  const context = world.context()
  const program = await bundle(
    `import { reservePorts } from ${JSON.stringify(join(import.meta.dirname, 'ports.ts'))}
     const [root, who] = process.argv.slice(2)
     const machine = { self: { pid: process.pid, startTime: '1' }, isAlive: () => true }
     const context = { root, machine, lock: async () => () => {} } as never
     const range = { first: 20_000, count: 100 }
     const ports: number[] = []
     for (let n = 0; n < 10; n++) ports.push(...(await reservePorts(context, { id: who + n, count: 2 }, range)))
     console.log(JSON.stringify(ports))`,
    world.path('reserver.mjs'),
  )
  const run = promisify(execFile)
  const answers = await Promise.all(['a', 'b', 'c', 'd'].map((who) => run(process.execPath, [program, context.root, who], { env: world.env })))
  const ports = answers.flatMap(({ stdout }) => JSON.parse(stdout) as number[])
  expect(ports).toHaveLength(80)
  expect(new Set(ports).size).toBe(80)
}, 60_000)

it('a reservation of a workspace that is gone is taken back, and of one that is there or just being made it is not', async () => {
  await using world = openGitWorld()
  const repository = world.repository('r')
  const context = world.context()
  const { record, commonDir, path } = makeWorkspace(world, context, repository, 'a')
  const past = { ...context, machine: { self: dead, isAlive: (holder: { pid: number }) => holder.pid !== dead.pid } }
  await reservePorts(past, { id: record.id, count: 1, commonDir })
  await reservePorts(context, { id: 'new3456789', count: 1, commonDir })
  const [abandoned] = await reservePorts(past, { id: 'gone456789', count: 1, commonDir })
  expect(orphanReservations(past).map(({ port }) => port)).toEqual([abandoned])
  expect(await freeOrphanPorts(past)).toEqual([abandoned])
  rmSync(path, { recursive: true })
  expect(orphanReservations(past)).toEqual([])
  removeRecord(commonDir, keyOf({ branch: 'a' }))
  expect(orphanReservations(past).map(({ id }) => id)).toEqual([record.id])
  writeFileSync(join(context.root, '.ports', '20000'), '')
  expect(orphanReservations(past).map(({ port }) => port)).toContain(20_000)
})

it('when every port is taken the answer is a quota, and nothing is kept', async () => {
  await using world = openGitWorld()
  const context = world.context()
  const range = { first: 20_000, count: 3 }
  await reservePorts(context, { id: '0123456789', count: 2 }, range)
  await expect(reservePorts(context, { id: 'late456789', count: 2 }, range)).rejects.toMatchObject({ code: 'resource_exhausted', details: { reason: 'quota' } })
  expect(await reservePorts(context, { id: 'late456789', count: 1 }, range)).toHaveLength(1)
})

it('commands find the first port, all of them, and each by its number', () => {
  expect(portVariables([20_001, 20_005])).toEqual({
    HOLDFAST_PORT: '20001',
    HOLDFAST_PORTS: '20001,20005',
    HOLDFAST_PORT_1: '20001',
    HOLDFAST_PORT_2: '20005',
  })
  expect(portVariables([])).toEqual({})
})
