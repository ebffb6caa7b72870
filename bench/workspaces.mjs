import { execFile, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { median, ms, printTable, timed, times } from './measure.mjs'
import { repository } from './program.mjs'

const run = promisify(execFile)
const lanes = 20

/** What opening and releasing a workspace takes beside git itself, which writes and deletes the same files in the same loop. */
export async function workspaces({ quick, world, goals }) {
  const files = quick ? 5_000 : 50_000
  const rounds = quick ? 3 : 6
  const label = files.toLocaleString('en')
  const folder = world.folder('workspaces')
  const repo = await makeRepository(join(folder, 'repo'), files)
  const room = await openRoom({ root: join(folder, 'root'), base: repo, env: { PATH: process.env.PATH } })
  const copyOnWrite = await room.probe()
  if (!copyOnWrite.ok) process.stdout.write(`\n(no copy-on-write workspaces here: ${copyOnWrite.why})\n`)
  const git = (...args) => run('git', args, { cwd: repo, env: cleanEnv })
  const open = (branch, copyOnWrite) => room.open({ repo, base: 'main', branch, remotePolicy: 'local', copyOnWrite })
  const release = (workspace) => room.release({ repo, workspace })
  const variants = [
    {
      name: 'git worktree add, remove',
      open: (branch) => git('worktree', 'add', '--quiet', '-b', branch, join(folder, branch), 'main'),
      release: (branch) => git('worktree', 'remove', join(folder, branch)),
    },
    { name: 'open, release', open: (branch) => open(branch, false), release },
    ...(copyOnWrite.ok ? [{ name: 'open, release: copy-on-write', open: (branch) => open(branch, true), release }] : []),
  ]
  try {
    // The first of a commit writes all files once.
    let first = Number.NaN
    if (copyOnWrite.ok) {
      first = await timed(() => open('first', true))
      await release('first')
    }
    const opened = variants.map(() => [])
    const released = variants.map(() => [])
    const inTurns = async (round, taken, action) => {
      for (let k = 0; k < variants.length; k += 1) {
        const at = (k + round) % variants.length
        // What one wrote is not to be brought to disk at the expense of the next.
        await run('sync', ['-f', folder])
        taken[at].push(await timed(() => action(variants[at], `round-${round}-${at}`)))
      }
    }
    for (let round = 0; round < rounds; round += 1) {
      await inTurns(round, opened, ({ open }, branch) => open(branch))
      await inTurns(round, released, ({ release }, branch) => release(branch))
    }
    const ratio = (taken, at) => median(taken[at].map((time, round) => time / taken[0][round]))
    printTable(
      `Workspaces of ${label} files (median of ${rounds} rounds; to git = median of the ratios per round; the disk is brought up to date between, off the clock)`,
      ['', 'open, ms', 'to git', 'release, ms', 'to git'],
      variants.map(({ name }, at) => [name, ms(median(opened[at])), times(ratio(opened, at)), ms(median(released[at])), times(ratio(released, at))]),
    )
    goals.most(`open of ${label} files, to git worktree add`, 1.1, ratio(opened, 1))
    goals.most('release returns, to git worktree remove', 0.1, ratio(released, 1), (value) => `${value.toFixed(3)}x`)
    if (copyOnWrite.ok) {
      goals.most('the same, copy-on-write, to git worktree add', 1 / 15, ratio(opened, 2), (value) => `1/${(1 / value).toFixed(1)}`)
      await twenty({ folder, repo, open, label, goals, first, all: () => median(opened[0]) })
    }
    await again({ open: (branch) => open(branch, copyOnWrite.ok), argvs: room.argvs, goals, rounds: quick ? 5 : 15 })
  } finally {
    await unmountAll(folder)
  }
}

async function twenty({ folder, repo, open, label, goals, first, all }) {
  const places = [join(folder, 'root', '.overlays'), join(repo, '.git', 'worktrees'), join(repo, '.git', 'holdfast')]
  // Mounts are file systems of their own, which -x leaves out.
  const bytes = async () => {
    const { stdout } = await run('du', ['-sxc', '--block-size=1', ...places])
    return Number(/^(\d+)\s+total$/m.exec(stdout)?.[1])
  }
  await open('lane-0', true)
  const before = await bytes()
  const took = await timed(async () => {
    for (let lane = 1; lane <= lanes; lane += 1) await open(`lane-${lane}`, true)
  })
  const taken = (await bytes()) - before
  const atOnce = await timed(() => Promise.all(Array.from({ length: lanes }, (_, lane) => open(`at-once-${lane}`, true))))
  const { stdout } = await run('git', ['status', '--porcelain'], { cwd: mountsBelow(folder).at(-1), env: cleanEnv })
  if (stdout !== '') throw new Error(`a copy-on-write workspace is not clean:\n${stdout.slice(0, 500)}`)
  const mb = (value) => `${(value / 1e6).toFixed(0)} MB`
  const seconds = (value) => `${(value / 1000).toFixed(2)} s`
  printTable(
    `${lanes} copy-on-write workspaces of ${label} files (beside as many git worktree add, extrapolated; the first of a commit takes ${seconds(first)})`,
    ['', 'one after the other', 'at once', 'on disk'],
    [
      ['open: copy-on-write', seconds(took), seconds(atOnce), mb(taken)],
      ['git worktree add', seconds(lanes * all()), '', ''],
    ],
  )
  goals.most(`${lanes} copy-on-write workspaces`, 3_000, took, seconds)
  goals.most('what they take on disk', 100e6, taken, mb)
}

async function again({ open, argvs, goals, rounds }) {
  const { path } = await open('again')
  const taken = []
  const counts = []
  for (let round = 0; round < rounds; round += 1) {
    argvs.length = 0
    taken.push(await timed(() => open('again')))
    counts.push(argvs.filter(([program]) => program === 'git').length)
  }
  const status = []
  for (let round = 0; round < rounds; round += 1) status.push(await timed(() => run('git', ['status', '--porcelain'], { cwd: path, env: cleanEnv })))
  printTable(
    'Opening a workspace that is there',
    ['', 'ms (median)', 'git processes (most)'],
    [
      ['open', ms(median(taken)), Math.max(...counts)],
      ['git status in it', ms(median(status)), 1],
    ],
  )
  goals.most('git processes of opening one that is there', 6, Math.max(...counts), String)
}

const cleanEnv = {
  PATH: process.env.PATH ?? '/usr/bin:/bin',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'A',
  GIT_AUTHOR_EMAIL: 'a@example.org',
  GIT_COMMITTER_NAME: 'A',
  GIT_COMMITTER_EMAIL: 'a@example.org',
}

/** A repository of one commit, in one pack, whose main checkout has no files: nothing here looks at it. */
async function makeRepository(path, files) {
  await run('git', ['init', '--quiet', '--initial-branch=main', path], { env: cleanEnv })
  const child = spawn('git', ['fast-import', '--quiet'], { cwd: path, env: cleanEnv, stdio: ['pipe', 'inherit', 'inherit'] })
  const ended = new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => (code === 0 ? resolve() : reject(new Error(`git fast-import ended with ${code}`))))
  })
  const write = (text) => child.stdin.write(text) || new Promise((resolve) => child.stdin.once('drain', resolve))
  await write('commit refs/heads/main\ncommitter A <a@example.org> 1700000000 +0000\ndata 5\nfirst\n')
  for (let i = 0; i < files; i += 1) {
    const name = `packages/p${String(i % 50).padStart(2, '0')}/src/m${String(((i / 50) % 20) | 0).padStart(2, '0')}/file${String(i).padStart(5, '0')}.ts`
    const text = `export const value${i} = ${i * 7919}\n`.repeat(120)
    await write(`M 100644 inline ${name}\ndata ${text.length}\n${text}\n`)
  }
  child.stdin.end('done\n')
  await ended
  return path
}

/** What opens and releases, with the parts that the program gives it, and the programs that it runs. */
async function openRoom({ root, base, env }) {
  const sources = await loadSources()
  const argvs = []
  const session = sources.openHostSession(base, { pipes: false })
  const runAny = sources.createProgramRunner(async () => session, sources.newRunId)
  const runProgram = (request) => {
    argvs.push(request.argv)
    return runAny(request)
  }
  const context = {
    git: sources.createGit({ runProgram, ownEnv: env }),
    runProgram,
    ownEnv: env,
    root,
    base,
    settings: {
      limits: { maxWorkspaces: null, maxBytes: null, minFreeBytes: 0, idleMs: 86_400_000, rescueMs: 86_400_000 },
      options: { copyOnWrite: false, setup: null, lfs: 'auto', submodules: 'init-offline', sparse: 'inherit', carry: [], ports: 0, passEnv: [] },
      remote: null,
      remotePolicy: 'local',
      trusted: [],
    },
    lock: sources.lockFile,
    machine: { self: sources.identifySelf(), isAlive: sources.isAlive },
    commands: { running: async () => [], stop: async () => [], setup: () => Promise.reject(new Error('there is no setup here')) },
    // What is in the trash goes with the folder of the benchmark: its deletion would slow down whatever is measured next.
    background: () => {},
    now: () => new Date(),
    newName: sources.newRunId,
  }
  return {
    argvs,
    open: (request) => sources.openWorkspace(context, request),
    release: (request) => sources.releaseWorkspace(context, request),
    probe: () => sources.probeOverlay(context),
  }
}

async function loadSources() {
  const outfile = join(repository, 'node_modules', '.cache', 'holdfast-bench', 'workspaces.mjs')
  const from = (path, names) => `export { ${names} } from ${JSON.stringify(join(repository, 'src', path))}`
  const contents = [
    from('backends/host/session.ts', 'openHostSession'),
    from('engine/collect.ts', 'createProgramRunner'),
    from('git/git.ts', 'createGit'),
    from('process/identity.ts', 'identifySelf, isAlive'),
    from('stores/sqlite/lock.ts', 'lockFile'),
    from('workspaces/overlay.ts', 'probeOverlay'),
    from('workspaces/open.ts', 'openWorkspace'),
    from('workspaces/release.ts', 'releaseWorkspace'),
    from('app/run-id.ts', 'newRunId'),
  ].join('\n')
  const options = { bundle: true, packages: 'external', platform: 'node', format: 'esm', target: 'node20', logLevel: 'warning' }
  await build({ stdin: { contents, resolveDir: repository }, outfile, ...options })
  return import(pathToFileURL(outfile).href)
}

function mountsBelow(folder) {
  try {
    const paths = readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      .map((line) => line.split(' ')[4] ?? '')
    return paths.filter((path) => path.startsWith(`${folder}/`))
  } catch {
    return []
  }
}

/** What is deleted with the folder must not be reached through a mount. */
async function unmountAll(folder) {
  for (const path of mountsBelow(folder).reverse()) await run('umount', ['-l', path]).catch(() => {})
}
