import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { openHostSession } from '../../src/backends/host/session.ts'
import type { RunProgram } from '../../src/core/program.ts'
import { createProgramRunner } from '../../src/engine/collect.ts'
import { createGit, type Git } from '../../src/git/git.ts'
import { identifySelf, isAlive } from '../../src/process/identity.ts'
import { lockFile } from '../../src/stores/sqlite/lock.ts'
import type { WorkspaceCommands, WorkspaceContext } from '../../src/workspaces/context.ts'
import { openWorld, type World } from './world.ts'

/** A world with real git in it: repositories, remotes, and the parts that workspaces are made with. */
export interface GitWorld extends World {
  readonly git: Git
  readonly runProgram: RunProgram
  /** git as a person types it, in a folder of the world; throws where it fails. */
  sh(cwd: string, ...args: string[]): string
  /** A repository with one commit on `main` that has these files; its folder. */
  repository(name: string, files?: Readonly<Record<string, string>>): string
  /** A bare remote named `origin` for a repository, with its `main` pushed and tracked; the folder of the remote. */
  remote(repository: string, name?: string): string
  /** Writes files and commits them; the commit. */
  commit(repository: string, files: Readonly<Record<string, string>>, message?: string): string
  context(overrides?: Partial<WorkspaceContext>): WorkspaceContext
}

export const noCommands: WorkspaceCommands = {
  running: async () => [],
  stop: async () => [],
  setup: async () => {
    throw new Error('this world has nothing that runs a setup')
  },
}

export function openGitWorld(): GitWorld {
  const world = openWorld()
  const session = openHostSession(world.folder, { pipes: false })
  const runProgram = createProgramRunner(async () => session, newName)
  const git = createGit({ runProgram, ownEnv: world.env })
  const env = { ...world.env, GIT_AUTHOR_NAME: 'A', GIT_AUTHOR_EMAIL: 'a@example.org', GIT_COMMITTER_NAME: 'A', GIT_COMMITTER_EMAIL: 'a@example.org' }
  const sh = (cwd: string, ...args: string[]): string =>
    execFileSync('git', ['-c', 'protocol.file.allow=always', ...args], {
      cwd,
      env,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 60_000,
    }).trim()
  const commit = (repository: string, files: Readonly<Record<string, string>>, message = 'change'): string => {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(repository, name)), { recursive: true })
      writeFileSync(join(repository, name), text)
    }
    sh(repository, 'add', '--all')
    sh(repository, 'commit', '--quiet', '--allow-empty', '-m', message)
    return sh(repository, 'rev-parse', 'HEAD')
  }
  return {
    ...world,
    git,
    runProgram,
    sh,
    commit,
    repository(name, files = { 'README.md': 'one\n' }) {
      const folder = world.path(name)
      mkdirSync(folder, { recursive: true })
      sh(folder, 'init', '--quiet', '--initial-branch=main')
      commit(folder, files, 'first')
      return folder
    },
    remote(repository, name = `${repository}.remote`) {
      sh(world.folder, 'clone', '--quiet', '--bare', repository, name)
      sh(repository, 'remote', 'add', 'origin', name)
      sh(repository, 'fetch', '--quiet', 'origin')
      sh(repository, 'branch', '--quiet', '--set-upstream-to=origin/main', 'main')
      return name
    },
    context: (overrides = {}) => ({ ...plainContext({ git, runProgram, ownEnv: world.env }, world.path('workspaces'), world.root), ...overrides }),
  }
}

/** What workspaces are made with on this machine, with the usual settings and without commands. */
export function plainContext(parts: Pick<WorkspaceContext, 'git' | 'runProgram' | 'ownEnv'>, root: string, base: string): WorkspaceContext {
  return {
    ...parts,
    root,
    base,
    settings: {
      limits: { maxWorkspaces: null, maxBytes: null, minFreeBytes: 0, idleMs: 7 * 86_400_000, rescueMs: 30 * 86_400_000 },
      options: { copyOnWrite: false, setup: null, lfs: 'auto', submodules: 'init-offline', sparse: 'inherit', carry: [], ports: 0, passEnv: [] },
      remote: null,
      remotePolicy: 'prefer-remote',
      trusted: [],
    },
    lock: lockFile,
    machine: { self: identifySelf(), isAlive },
    commands: noCommands,
    now: () => new Date(),
    newName,
  }
}

const newName = (): string => Math.random().toString(36).slice(2, 14).padEnd(12, '0')
