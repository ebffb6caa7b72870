import { mkdirSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import type { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { describe, expect, it } from 'vitest'
import { openWorld } from '../../../test/support/world.ts'
import { chooseRoot, pickRoot } from './roots.ts'

const uri = (path: string): string => pathToFileURL(path).href

describe('the folder to work in', () => {
  it('is where the process stands while that is in a folder that the client has open', async () => {
    await using world = openWorld()
    mkdirSync(world.path('root', 'packages', 'a'), { recursive: true })
    const roots = [uri(world.path('home')), uri(world.root)]
    expect(pickRoot(roots, world.root)).toBe(world.root)
    expect(pickRoot(roots, world.path('root', 'packages', 'a'))).toBe(world.path('root', 'packages', 'a'))
  })

  it('is the first open folder that is there where the process stands elsewhere', async () => {
    await using world = openWorld()
    const folder = world.path('ro ot ü')
    mkdirSync(folder)
    writeFileSync(world.path('file'), '')
    const roots = ['https://example.org/x', 'not an address', uri(world.path('gone')), uri(world.path('file')), uri(folder), uri(world.root)]
    expect(pickRoot(roots, '/')).toBe(folder)
    // A name that only begins alike is another folder.
    expect(pickRoot([uri(folder)], `${folder}-2`)).toBe(folder)
  })

  it('stays where the client has none that is there', () => {
    expect(pickRoot([], '/srv')).toBe('/srv')
    expect(pickRoot(['file:///no/such/folder'], '/srv')).toBe('/srv')
  })

  it('stays where the client knows no roots, or does not tell them, and that is said', async () => {
    const notes: string[] = []
    const server = (capabilities: object, listRoots: () => Promise<unknown>) => ({ getClientCapabilities: () => capabilities, listRoots }) as unknown as Server
    const ask = (made: Server) => chooseRoot(made, '/srv', (line) => notes.push(line))
    expect(await ask(server({}, () => Promise.reject(new Error('never asked'))))).toBe('/srv')
    expect(notes).toEqual([])
    expect(await ask(server({ roots: {} }, () => Promise.reject(new Error('Request timed out\nat x'))))).toBe('/srv')
    expect(notes).toEqual(['the client did not tell its roots (Request timed out); working in /srv'])
  })
})
