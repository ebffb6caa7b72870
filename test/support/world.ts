import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { endSupervisors } from './end-supervisors.ts'
import { isSupervised, plainEnv } from './modes.ts'

/** A place of its own for one test, away from the person's home and settings; gone when the test is over. */
export interface World extends AsyncDisposable {
  /** The folder for everything below. */
  readonly folder: string
  /** An empty folder to work in. */
  readonly root: string
  readonly home: string
  readonly tmp: string
  /** What children get: no settings of git or of an outer Holdfast, and of the person only how long a supervisor stays. */
  readonly env: Readonly<Record<string, string>>
  path(...parts: string[]): string
}

export function openWorld(): World {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-test-')))
  const path = (...parts: string[]): string => join(folder, ...parts)
  for (const name of ['root', 'home', 'tmp']) mkdirSync(path(name), { mode: 0o700 })
  // A supervisor that cannot be found by the records of its runs any more ends by itself soon.
  const settings = path('home', '.config', 'holdfast')
  mkdirSync(settings, { recursive: true })
  writeFileSync(join(settings, 'holdfast.json'), JSON.stringify({ supervisor: { idleMs: '10s' } }))
  return {
    folder,
    root: path('root'),
    home: path('home'),
    tmp: path('tmp'),
    env: scrubbedEnv(path('home'), path('tmp')),
    path,
    async [Symbol.asyncDispose]() {
      await endSupervisors(folder)
      // A supervisor that no record names may still write what is left of the output of processes that were just killed.
      await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
    },
  }
}

function scrubbedEnv(home: string, tmp: string): Record<string, string> {
  return {
    PATH: process.env.PATH ?? '/usr/local/bin:/usr/bin:/bin',
    HOME: home,
    TMPDIR: tmp,
    XDG_CONFIG_HOME: join(home, '.config'),
    XDG_STATE_HOME: join(home, '.local', 'state'),
    LC_ALL: 'C.UTF-8',
    TERM: 'dumb',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    ...(isSupervised ? {} : plainEnv),
  }
}
