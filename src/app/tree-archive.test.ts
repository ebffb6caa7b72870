import { execFileSync } from 'node:child_process'
import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { hasProgram } from '../../test/support/has-program.ts'
import { openWorld } from '../../test/support/world.ts'
import { type ArchiveTotals, archive, listTree } from './tree-archive.ts'

async function bytesOf(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = []
  for await (const piece of pieces) all.push(piece)
  return Buffer.concat(all)
}

const unpackers = [['tar'], ...(hasProgram('busybox', 'an archive unpacked by busybox') ? [['busybox', 'tar']] : [])]

it.each(unpackers)('an archive of a tree is unpacked by %s %s as it was', async (...unpacker) => {
  await using world = openWorld()
  const long = `${'d'.repeat(90)}/${'f'.repeat(200)}`
  mkdirSync(join(world.root, 'd'.repeat(90)))
  writeFileSync(join(world.root, long), 'far down')
  writeFileSync(join(world.root, 'run me'), '#!/bin/sh\n')
  chmodSync(join(world.root, 'run me'), 0o755)
  writeFileSync(join(world.root, 'ü\n.bin'), Buffer.alloc(100_000, 7))
  symlinkSync(`../${'x'.repeat(150)}`, join(world.root, 'link'))
  mkdirSync(join(world.root, 'empty'))
  const totals: ArchiveTotals = { files: 0, bytes: 0, changed: [] }
  const bytes = await bytesOf(archive(Buffer.from(world.root), listTree(Buffer.from(world.root)), totals))
  const out = world.path('out')
  mkdirSync(out)
  const [program = '', ...args] = unpacker
  execFileSync(program, [...args, '-x', '-o', '-f', '-', '-C', out], { input: bytes, env: world.env })
  expect(readdirSync(out).sort()).toEqual(readdirSync(world.root).sort())
  expect(readFileSync(join(out, long), 'utf8')).toBe('far down')
  expect(readFileSync(join(out, 'ü\n.bin'))).toEqual(Buffer.alloc(100_000, 7))
  expect(lstatSync(join(out, 'run me')).mode & 0o777).toBe(0o755)
  expect(readlinkSync(join(out, 'link'))).toBe(`../${'x'.repeat(150)}`)
  expect(lstatSync(join(out, 'empty')).isDirectory()).toBe(true)
  expect(totals).toEqual({ files: 3, bytes: 100_000 + 8 + 10, changed: [] })
})
