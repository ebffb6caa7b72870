import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { openWorld, type World } from '../support/world.ts'

const program = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))
/** Where the pages say that things are. */
export const shownHome = '/home/ada'

/** A home with one project, `shop`, in which one of six tests fails, and `holdfast` on the path. */
export interface DocsWorld extends World {
  readonly project: string
  readonly env: Readonly<Record<string, string>>
}

const inspector = fileURLToPath(new URL('../mcp-tools/node_modules/.bin/mcp-inspector', import.meta.url))
/** Whether the pages find the MCP Inspector, which scripts/test installs. */
export const hasInspector = existsSync(inspector)
const day = fileURLToPath(new URL('day/', import.meta.url))
const shop = fileURLToPath(new URL('shop/', import.meta.url))

export function openDocsWorld(): DocsWorld {
  const world = openWorld()
  const home = world.path('home')
  const project = world.path('home', 'shop')
  const bin = world.path('home', 'bin')
  cpSync(shop, project, { recursive: true })
  mkdirSync(bin)
  writeFileSync(world.path('home', '.npmrc'), 'update-notifier=false\n')
  cpSync(day, world.path('home', 'agent'), { recursive: true })
  for (const [name, script] of [
    ['holdfast', program],
    ['mcp-inspector', inspector],
  ] as const) {
    writeFileSync(`${bin}/${name}`, `#!/bin/sh\nexec '${process.execPath}' '${script}' "$@"\n`)
    chmodSync(`${bin}/${name}`, 0o755)
  }
  const env = {
    ...world.env,
    HOME: home,
    PATH: `${bin}:${world.env.PATH}`,
    GIT_AUTHOR_NAME: 'Ada',
    GIT_AUTHOR_EMAIL: 'ada@example.org',
    GIT_COMMITTER_NAME: 'Ada',
    GIT_COMMITTER_EMAIL: 'ada@example.org',
    COLUMNS: '100',
  }
  const git = (...args: string[]): void => {
    const { status, stderr } = spawnSync('git', args, { cwd: project, env, encoding: 'utf8' })
    if (status !== 0) throw new Error(`git ${args[0]} failed: ${stderr}`)
  }
  git('init', '--quiet', '--initial-branch', 'main')
  git('add', '.')
  git('commit', '--quiet', '--message', 'prices')
  return Object.assign(Object.create(world) as World, { env, project, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() })
}
