import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { connect, createServer, type Server } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openWorld, type World } from '../../../test/support/world.ts'
import { doorOf } from './door.ts'

describe.skipIf(process.platform !== 'linux')('the way past the engine to a socket of a process', () => {
  let world: World
  let server: Server
  let socket: string

  beforeAll(async () => {
    world = openWorld()
    mkdirSync(world.path('folder'))
    socket = world.path('folder', 'served')
    server = createServer((client) => client.end('served'))
    await new Promise<void>((resolve) => server.listen(socket, resolve))
  })

  afterAll(async () => {
    await new Promise((resolve) => server.close(resolve))
    await world[Symbol.asyncDispose]()
  })

  it('leads to whoever serves there', async () => {
    const door = doorOf(process.pid, socket)
    if (!door) throw new Error('there is no door')
    const said = await new Promise((resolve, reject) => connect(door.path).on('data', resolve).on('error', reject))
    expect(String(said)).toBe('served')
    door.close()
    door.close()
  })

  it('follows no link, since it would lead out of the container', () => {
    symlinkSync('folder', world.path('linked-folder'))
    symlinkSync('folder/served', world.path('linked'))
    expect(doorOf(process.pid, world.path('linked-folder', 'served'))).toBeUndefined()
    expect(doorOf(process.pid, world.path('linked'))).toBeUndefined()
    expect(doorOf(process.pid, `${world.path('folder')}/../folder/served`)).toBeUndefined()
  })

  it('is none where there is no such process, or no socket', () => {
    writeFileSync(world.path('file'), '')
    expect([doorOf(0, socket), doorOf(2 ** 30, socket), doorOf(process.pid, world.path('file')), doorOf(process.pid, world.path('missing'))]).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ])
  })
})
