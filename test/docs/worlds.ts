import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { endSupervisors } from '../support/end-supervisors.ts'
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
  const home = makeHome()
  const project = join(home, 'shop')
  const bin = join(home, 'bin')
  cpSync(shop, project, { recursive: true })
  cpSync(day, join(home, 'agent'), { recursive: true })
  mkdirSync(bin)
  writeFileSync(join(home, '.npmrc'), 'update-notifier=false\n')
  writeFileSync(join(home, '.gitconfig'), '[user]\n\tname = Ada\n\temail = ada@example.org\n')
  for (const [name, script] of [
    ['holdfast', program],
    ['mcp-inspector', inspector],
  ] as const) {
    writeFileSync(join(bin, name), `#!/bin/sh\nexec '${process.execPath}' '${script}' "$@"\n`)
    chmodSync(join(bin, name), 0o755)
  }
  const env = {
    ...world.env,
    HOME: home,
    XDG_CONFIG_HOME: join(home, '.config'),
    XDG_STATE_HOME: join(home, '.local', 'state'),
    GIT_CONFIG_GLOBAL: join(home, '.gitconfig'),
    PATH: `${bin}:${world.env.PATH}`,
    COLUMNS: '100',
    // Where it keeps what nothing here has; otherwise it says which of the places there is.
    MCP_INSPECTOR_SECRET_STORE: 'memory',
  }
  const git = (...args: string[]): void => {
    const { status, stderr } = spawnSync('git', args, { cwd: project, env, encoding: 'utf8' })
    if (status !== 0) throw new Error(`git ${args[0]} failed: ${stderr}`)
  }
  git('init', '--quiet', '--initial-branch', 'main')
  git('add', '.')
  git('commit', '--quiet', '--message', 'prices')
  return {
    ...world,
    home,
    project,
    env,
    async [Symbol.asyncDispose]() {
      await endSupervisors(home)
      await rm(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
      await world[Symbol.asyncDispose]()
    },
  }
}

/** As long as the home that is shown, since what is cut to a budget or a width depends on it. */
function makeHome(): string {
  for (;;) {
    const name = randomBytes(4)
      .toString('hex')
      .slice(0, shownHome.length - '/tmp/'.length)
    try {
      mkdirSync(`/tmp/${name}`, { mode: 0o700 })
      return `/tmp/${name}`
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
}
