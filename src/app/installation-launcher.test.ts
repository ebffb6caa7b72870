import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, it } from 'vitest'
import { openWorld } from '../../test/support/world.ts'
import { findLauncher } from './installation-launcher.ts'

function program(path: string): string {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, '#!/bin/sh\n')
  chmodSync(path, 0o755)
  return path
}

function link(to: string, path: string): string {
  mkdirSync(dirname(path), { recursive: true })
  symlinkSync(to, path)
  return path
}

it('a checkout is started by its launcher', async () => {
  await using world = openWorld()
  const built = program(world.path('src', 'dist', 'cli.js'))
  program(world.path('src', 'scripts', 'prepare.sh'))
  const launcher = program(world.path('src', 'holdfast'))
  expect(findLauncher(built, '')).toEqual({ words: [launcher] })
})

it('a package that a person has on the PATH is started by its name', async () => {
  await using world = openWorld()
  const built = program(world.path('lib', 'node_modules', 'holdfast', 'dist', 'cli.js'))
  link(built, world.path('bin', 'holdfast'))
  expect(findLauncher(world.path('bin', 'holdfast'), `relative:${world.path('none')}:${world.path('bin')}`)).toEqual({ words: ['holdfast'] })
})

it('a package that only a project has, or that another of the same name stands before, is started by where it is', async () => {
  await using world = openWorld()
  const built = program(world.path('app', 'node_modules', 'holdfast', 'dist', 'cli.js'))
  const bin = dirname(link(built, world.path('app', 'node_modules', '.bin', 'holdfast')))
  expect(findLauncher(built, bin)).toEqual({ words: [process.execPath, built] })
  program(world.path('first', 'holdfast'))
  link(built, world.path('second', 'holdfast'))
  expect(findLauncher(built, `${world.path('first')}:${world.path('second')}`)).toEqual({ words: [process.execPath, built] })
})

it('what npx fetched for once is said to go', async () => {
  await using world = openWorld()
  const built = program(world.path('.npm', '_npx', '1a2b', 'node_modules', 'holdfast', 'dist', 'cli.js'))
  expect(findLauncher(built, '').warning).toContain('npm may empty')
})
