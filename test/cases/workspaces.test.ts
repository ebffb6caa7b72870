import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect } from 'vitest'
import type { HoldfastError, OpenedWorkspace } from '../../src/index.ts'
import { caseFile, caseText, describeCases, end, exited, logOf, namedIn, type Place, runProgram, testsInPlace, until } from './place.ts'

const inPlace = testsInPlace(90_000)

/** A folder in which the script of a case made what it needs. */
async function prepared(place: Place, name: string): Promise<string> {
  const folder = place.world.path('case')
  const { status, stderr } = await runProgram('bash', [caseFile(name), folder], { cwd: place.world.folder, env: place.world.env })
  expect([status, status === 0 ? '' : stderr]).toEqual([0, ''])
  return folder
}

function gitIn({ world }: Place, cwd: string, ...args: string[]): string {
  const env = { ...world.env, GIT_AUTHOR_NAME: 'A', GIT_AUTHOR_EMAIL: 'a@example.org', GIT_COMMITTER_NAME: 'A', GIT_COMMITTER_EMAIL: 'a@example.org' }
  return execFileSync('git', ['-c', 'protocol.file.allow=always', ...args], { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()
}

/** A repository with one commit in the root of the place. */
function repository(place: Place): string {
  const { root } = place.world
  gitIn(place, root, 'init', '--quiet', '--initial-branch=main')
  writeFileSync(join(root, 'a'), 'a\n')
  writeFileSync(join(root, '.gitignore'), '.holdfast/\n')
  gitIn(place, root, 'add', '.')
  gitIn(place, root, 'commit', '--quiet', '-m', 'first')
  return root
}

const refusalOf = (promise: Promise<unknown>): Promise<HoldfastError> =>
  promise.then(
    (value) => {
      throw new Error(`nothing was refused: ${JSON.stringify(value)}`)
    },
    (error: unknown) => error as HoldfastError,
  )

const worktrees = (place: Place, repo: string): string[] =>
  gitIn(place, repo, 'worktree', 'list', '--porcelain')
    .split('\n')
    .filter((line) => line.startsWith('worktree '))

const branches = (place: Place, repo: string): string[] =>
  gitIn(place, repo, 'for-each-ref', '--format=%(refname:short)', 'refs/heads').split('\n').filter(Boolean)

/** Where a tree keeps its index. */
const adminFolder = (path: string): string => readFileSync(join(path, '.git'), 'utf8').replace('gitdir: ', '').trim()

describeCases('worktrees and git (group F)', () => {
  inPlace('B045: a lock that another git holds for a moment is waited for by git, and looking takes none', async (place) => {
    const run = await place.holdfast.exec({ script: caseText('B045.sh') })
    expect(logOf(run)).toContain('after release: rc=0')
    repository(place)
    const { holdfast } = place
    const { path } = await holdfast.openWorkspace({ branch: 'busy' })
    const commits = holdfast.exec({
      workspace: 'busy',
      script:
        'git config user.name A; git config user.email a@example.org; for i in $(seq 1 30); do echo $i >>a; git commit -qam "$i" || exit 9; sleep 0.1; done',
    })
    let looks = 0
    const looking = (async () => {
      for (const over = commits.then(() => true); ; looks += 1) {
        const status = await holdfast.workspaceStatus({ workspace: 'busy' })
        expect(status.state).toBe('ready')
        if (await Promise.race([over, new Promise((resolve) => setTimeout(() => resolve(false), 50))])) return
      }
    })()
    const [committed] = await Promise.all([commits, looking])
    expect(committed.outcome).toEqual(exited(0))
    expect(looks).toBeGreaterThan(2)
    expect(gitIn(place, path, 'rev-list', '--count', 'main..busy')).toBe('30')
  })

  inPlace('B046: a lock without an owner is cleared, one that is held is never touched', async (place) => {
    const folder = await prepared(place, 'B046.sh')
    const { holdfast } = place
    try {
      // Nothing was committed there, so that no workspace can begin; the locks are as they were.
      for (const name of ['stale', 'live']) {
        const refused = await refusalOf(holdfast.openWorkspace({ repo: join(folder, name), branch: 'work' }))
        expect(refused.details.reason).toBe('unborn_base')
        expect(existsSync(join(folder, name, '.git/index.lock'))).toBe(true)
      }
    } finally {
      for (const { pid } of namedIn(place, 'b046-live')) end(pid)
    }
    repository(place)
    const { path } = await holdfast.openWorkspace({ branch: 'work' })
    const lock = join(adminFolder(path), 'index.lock')
    const old = new Date(Date.now() - 2 * 3_600_000)
    writeFileSync(lock, '')
    utimesSync(lock, old, old)
    const mended = await holdfast.openWorkspace({ branch: 'work' })
    expect(existsSync(lock)).toBe(false)
    expect(mended.actions.length).toBeGreaterThan(0)
    const holder = await holdfast.exec({ script: `exec 9>'${lock}'; touch -d '2 hours ago' '${lock}'; echo held; exec sleep 60`, detach: true })
    await until('the lock is held', () => existsSync(lock))
    await until('it is old', () => statSync(lock).mtimeMs < Date.now() - 3_600_000)
    const opened = await holdfast.openWorkspace({ branch: 'work' }).catch((error: HoldfastError) => error)
    expect(existsSync(lock)).toBe(true)
    await holdfast.stop({ run: holder.id })
    expect(JSON.stringify(opened)).toMatch(/index is locked by process \d+|index\.lock/)
  })

  inPlace('B054: a branch that another tree has is refused with its path, and a name that is asked for twice is one workspace', async (place) => {
    const folder = await prepared(place, 'B054.sh')
    const { holdfast } = place
    const repo = join(folder, 'repo')
    const before = [worktrees(place, repo), branches(place, repo)]
    const other = await refusalOf(holdfast.openWorkspace({ repo, branch: 'feat/x' }))
    expect([other.details.reason, other.message]).toEqual(['branch_in_use', expect.stringContaining(join(folder, 'other'))])
    const main = await refusalOf(holdfast.openWorkspace({ repo, branch: 'main' }))
    expect([main.details.reason, main.message]).toEqual(['branch_in_use', expect.stringContaining(repo)])
    expect([worktrees(place, repo), branches(place, repo)]).toEqual(before)
    const first = await holdfast.openWorkspace({ repo, branch: 'mine' })
    expect(await holdfast.openWorkspace({ repo, branch: 'mine' })).toMatchObject({ id: first.id, path: first.path, created: false })
    const run = await holdfast.exec({ workspace: first.id, script: 'pwd; git branch --show-current' })
    expect(logOf(run)).toBe(`${first.path}\nmine\n`)
    expect(gitIn(place, repo, 'status', '--porcelain')).toBe('')
  })

  inPlace('B055: what is not ours is kept as it is, and what is ours comes back from each of the states', async (place) => {
    const folder = await prepared(place, 'B055.sh')
    const { holdfast } = place
    const repo = join(folder, 'repo')
    const before = worktrees(place, repo)
    for (const name of ['locked-missing', 'locked-present']) {
      const refused = await refusalOf(holdfast.openWorkspace({ repo, branch: `b/${name}` }))
      expect(['branch_in_use', 'locked_foreign']).toContain(refused.details.reason)
      expect(refused.message).toContain(join(folder, name))
    }
    expect(worktrees(place, repo)).toEqual(before)
    expect(existsSync(join(folder, 'locked-present/a'))).toBe(true)
    const mine = await holdfast.openWorkspace({ repo, branch: 'mine' })
    const stateOf = async (): Promise<unknown> => (await holdfast.listWorkspaces({ repo })).find(({ id }) => id === mine.id)?.state
    rmSync(mine.path, { recursive: true })
    expect(await stateOf()).toBe('missing')
    expect(await holdfast.openWorkspace({ repo, branch: 'mine' })).toMatchObject({ id: mine.id, path: mine.path })
    expect(await stateOf()).toBe('ready')
    // The repository is moved, which cuts every tree off.
    const moved = join(folder, 'repo-moved')
    renameSync(repo, moved)
    expect(await holdfast.openWorkspace({ repo: moved, branch: 'mine' })).toMatchObject({ id: mine.id, path: mine.path })
    expect(gitIn(place, mine.path, 'rev-parse', '--abbrev-ref', 'HEAD')).toBe('mine')
    gitIn(place, moved, 'worktree', 'unlock', mine.path)
    gitIn(place, moved, 'worktree', 'lock', '--reason', 'on a portable device', mine.path)
    const locked = await refusalOf(holdfast.releaseWorkspace({ repo: moved, workspace: mine.id }))
    expect([locked.details.reason, locked.message]).toEqual(['locked_foreign', expect.stringContaining('on a portable device')])
    expect(existsSync(join(mine.path, 'a'))).toBe(true)
  })

  inPlace('B056: a workspace with a submodule goes when it is clean; a file that was changed in there is never lost', async (place) => {
    const folder = await prepared(place, 'B056.sh')
    const { holdfast } = place
    const repo = join(folder, 'repo')
    const open = async (): Promise<OpenedWorkspace> => {
      const opened = await holdfast.openWorkspace({ repo, branch: 'mine' })
      expect(existsSync(join(opened.path, 'vendor/lib/l'))).toBe(true)
      return opened
    }
    const clean = await open()
    expect(await holdfast.releaseWorkspace({ repo, workspace: 'mine' })).toMatchObject({ released: true, rescue: null })
    expect(existsSync(clean.path)).toBe(false)
    expect(worktrees(place, repo).join()).not.toContain(clean.path)
    expect(readdirSync(join(repo, '.git/worktrees'))).toEqual(['wt'])
    const changed = await open()
    writeFileSync(join(changed.path, 'vendor/lib/l'), 'changed\n')
    const refused = await refusalOf(holdfast.releaseWorkspace({ repo, workspace: 'mine', mode: 'refuse' }))
    expect(refused.details.reason).toBe('workspace_dirty')
    expect(readFileSync(join(changed.path, 'vendor/lib/l'), 'utf8')).toBe('changed\n')
    expect(await holdfast.releaseWorkspace({ repo, workspace: 'mine' })).toMatchObject({ released: true, rescue: expect.stringContaining('rescue') })
    const again = await open()
    expect(readFileSync(join(again.path, 'vendor/lib/l'), 'utf8')).toBe('l\n')
    const [rescue] = await holdfast.listRescues({ repo })
    await holdfast.restoreRescue({ repo, rescue: rescue?.id ?? '' })
    expect(readFileSync(join(again.path, 'vendor/lib/l'), 'utf8')).toBe('changed\n')
  })

  inPlace('B058: without the program of a filter nothing is half made, and no command runs in the main checkout instead', async (place) => {
    const folder = await prepared(place, 'B058.sh')
    const { holdfast } = place
    const repo = join(folder, 'repo')
    const opened = await holdfast.openWorkspace({ repo, branch: 'feat' }).catch((error: HoldfastError) => error)
    if ('path' in opened) {
      expect(readFileSync(join(opened.path, 'big.bin'), 'utf8')).toBe('version pointer\n')
      expect(JSON.stringify([opened.actions, opened.warnings])).toContain('b058lfs')
      const run = await holdfast.exec({ workspace: opened.id, script: 'pwd; touch b058-here' })
      expect(logOf(run)).toBe(`${opened.path}\n`)
    } else {
      expect(opened.message).toContain('b058')
      expect(branches(place, repo)).toEqual(['main'])
      expect(worktrees(place, repo)).toHaveLength(1)
      await refusalOf(holdfast.exec({ workspace: 'feat', script: 'pwd; touch b058-here' }))
    }
    expect(existsSync(join(repo, 'b058-here'))).toBe(false)
  })

  inPlace('B059: a sparse checkout is handed on, and stays as it is in the main checkout', async (place) => {
    const folder = await prepared(place, 'B059.sh')
    const { holdfast } = place
    const repo = join(folder, 'repo')
    const { path } = await holdfast.openWorkspace({ repo, branch: 'mine' })
    expect(readdirSync(path).sort()).toEqual(['.git', 'src'])
    const full = await holdfast.openWorkspace({ repo, branch: 'whole', sparse: 'full' })
    expect(readdirSync(join(full.path, 'assets'))).toHaveLength(1500)
    expect(gitIn(place, repo, 'sparse-checkout', 'list')).toBe('src')
    expect(readdirSync(repo).sort()).toEqual(['.git', 'src'])
  })

  inPlace('B060: each branch of each repository has a folder of its own inside the root, or is refused by its name', async (place) => {
    const folder = await prepared(place, 'B060.sh')
    const { holdfast } = place
    const names = readFileSync(join(folder, 'branches'), 'utf8').split('\n').filter(Boolean)
    const opened: OpenedWorkspace[] = []
    const refused = new Map<string, HoldfastError>()
    for (const repo of ['one/app', 'two/app']) {
      for (const branch of names) {
        const result = await holdfast.openWorkspace({ repo: join(folder, repo), branch }).catch((error: HoldfastError) => error)
        if ('path' in result) {
          expect(result.branch).toBe(branch)
          expect(gitIn(place, result.path, 'rev-parse', '--abbrev-ref', 'HEAD')).toBe(branch)
          expect(readFileSync(join(result.path, 'who'), 'utf8')).toBe(`${dirname(repo)}\n`)
          opened.push(result)
        } else refused.set(branch, result)
      }
    }
    expect(new Set(opened.map(({ path }) => path)).size).toBe(opened.length)
    const root = place.world.path('home', '.local', 'state', 'holdfast', 'workspaces')
    for (const { path } of opened) expect(path.startsWith(`${root}/`)).toBe(true)
    expect(opened.filter(({ branch }) => branch === 'feat/login' || branch === 'feat-login')).toHaveLength(4)
    for (const name of ['-d', '../escape', 'x..y', 'name.lock', 'HEAD']) expect(refused.get(name)?.details.reason, name).toBe('invalid_branch')
    expect(refused.get('feat')?.details).toMatchObject({ reason: 'branch_name_conflict', with: 'feat/login' })
    expect(existsSync(join(folder, 'escape'))).toBe(false)
  })

  inPlace('B087: a workspace in which a job runs is not removed, and does not come back once the job was stopped for it', async (place) => {
    const main = repository(place)
    const { holdfast } = place
    const { path } = await holdfast.openWorkspace({ branch: 'job' })
    mkdirSync(join(path, 'src'))
    const job = await holdfast.exec({ workspace: 'job', script: caseText('B087.sh'), env: { B087_HERE: '1' }, detach: true, purpose: 'the job' })
    await until('it writes', () => existsSync(join(path, 'build/out.txt')))
    const refused = await refusalOf(holdfast.releaseWorkspace({ workspace: 'job' }))
    expect([refused.details.reason, refused.message]).toEqual(['workspace_busy', expect.stringContaining(job.id)])
    expect(existsSync(join(path, 'a'))).toBe(true)
    const released = await holdfast.releaseWorkspace({ workspace: 'job', stop: true })
    expect(released).toMatchObject({ released: true, stopped: [job.id], rescue: expect.stringContaining('rescue') })
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    expect(existsSync(path)).toBe(false)
    expect((await holdfast.show({ run: job.id })).state).toBe('ended')
    expect(gitIn(place, main, 'status', '--porcelain')).toBe('')
  })
})
