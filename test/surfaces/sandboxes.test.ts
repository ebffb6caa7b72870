import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect } from 'vitest'
import type { Holdfast } from '../../src/index.ts'
import { describeSupervised, exited, logOf, type Place, testsInPlace, until } from '../cases/place.ts'

const inPlace = testsInPlace(60_000)

const secret = 'tok-4f9a-on-the-host'

function gitIn({ world }: Place, ...args: string[]): string {
  return execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@example.org', ...args], { cwd: world.root, env: world.env, encoding: 'utf8' }).trim()
}

/** A person with credentials in all the usual places, and a repository that would use them. */
async function openWithCredentials(place: Place): Promise<Holdfast> {
  const { root, home } = place.world
  writeFileSync(join(root, 'a'), 'a\n')
  writeFileSync(join(root, '.gitignore'), '.holdfast/\n')
  gitIn(place, 'init', '--quiet', '--initial-branch=main')
  gitIn(place, 'add', '.')
  gitIn(place, 'commit', '--quiet', '-m', 'first')
  gitIn(place, 'config', 'credential.helper', 'store')
  writeFileSync(join(home, '.gitconfig'), `[credential]\n\thelper = store\n[http]\n\textraHeader = Authorization: ${secret}\n`)
  writeFileSync(join(home, '.git-credentials'), `https://person:${secret}@example.org\n`)
  writeFileSync(join(home, '.netrc'), `machine example.org login person password ${secret}\n`, { mode: 0o600 })
  mkdirSync(join(home, '.ssh'))
  writeFileSync(join(home, '.ssh/config'), `Host example.org\n  IdentityFile ${home}/.ssh/${secret}\n`)
  const env = {
    ...place.world.env,
    GIT_CONFIG_GLOBAL: join(home, '.gitconfig'),
    API_TOKEN: secret,
    GH_TOKEN: secret,
    SSH_AUTH_SOCK: `/run/${secret}`,
    NETRC: secret,
    CI: 'yes',
  }
  return place.again({ env })
}

/** All that a command can ask for where credentials usually are. */
const look = `
env; tr '\\0' '\\n' </proc/self/environ; tr '\\0' '\\n' </proc/$$/environ
git config --list --show-origin; git remote -v
printf 'protocol=https\\nhost=example.org\\n\\n' | git credential fill
ssh -G example.org; ssh-add -l
cat ~/.netrc ~/.git-credentials ~/.gitconfig ~/.ssh/config "$XDG_CONFIG_HOME"/git/* "$HOME"/.config/gh/*
node -e 'console.log(require("os").homedir())'
echo "asked: $?"
`

describe('a sandbox', () => {
  inPlace('has no credential of the person where one usually is, while an ordinary workspace has those of its environment', async (place) => {
    const holdfast = await openWithCredentials(place)
    const opened = await holdfast.openWorkspace({ operator: 'reviewer' })
    expect(opened).toMatchObject({ kind: 'sandbox', branch: null, operator: 'reviewer', isolation: 'env-only' })
    const inside = await holdfast.exec({ workspace: opened.id, script: look })
    const printed = logOf(inside) + logOf(inside, 'stderr')
    expect(printed).toContain('asked: ')
    expect(printed).toContain(`HOLDFAST_WORKSPACE=${opened.id}`)
    expect(printed).toContain('terminal prompts disabled')
    expect(printed).not.toContain(secret)
    expect(printed).not.toContain(`HOME=${place.world.home}\n`)
    // That this way of looking finds them where they are to be had.
    const branch = await holdfast.openWorkspace({ branch: 'ordinary' })
    const beside = await holdfast.exec({ workspace: branch.id, script: look })
    expect(logOf(beside)).toContain(secret)
  })

  inPlace('gets what it was declared with and nothing else, and is told when that is not there', async (place) => {
    const holdfast = await openWithCredentials(place)
    await holdfast.openWorkspace({ operator: 'builder', passEnv: ['CI'] })
    const run = await holdfast.exec({ workspace: 'operator:builder', argv: ['sh', '-c', 'echo "$CI"'] })
    expect(logOf(run)).toBe('yes\n')
    await expect(holdfast.exec({ workspace: 'operator:builder', argv: ['true'], passEnv: ['API_TOKEN'] })).rejects.toMatchObject({
      details: { reason: 'invalid', field: 'passEnv', value: 'API_TOKEN' },
    })
    const without = await place.again()
    await expect(without.exec({ workspace: 'operator:builder', argv: ['true'] })).rejects.toMatchObject({
      details: { reason: 'environment_missing', names: ['CI'] },
    })
  })

  inPlace('gets no more by what is written into its record', async (place) => {
    const holdfast = await openWithCredentials(place)
    const { id, path } = await holdfast.openWorkspace({ operator: 'builder', passEnv: ['CI'] })
    const commonDir = dirname(dirname(readFileSync(join(path, '.git'), 'utf8').replace('gitdir: ', '').trim()))
    const records = join(commonDir, 'holdfast', 'workspaces')
    const file = join(records, readdirSync(records)[0] as string)
    const record = JSON.parse(readFileSync(file, 'utf8')) as { options: object }
    writeFileSync(file, JSON.stringify({ ...record, options: { ...record.options, passEnv: ['CI', 'API_TOKEN'] } }))
    await expect(holdfast.exec({ workspace: id, argv: ['true'] })).rejects.toMatchObject({ message: expect.stringContaining('names the variables API_TOKEN') })
    writeFileSync(file, JSON.stringify({ ...record, kind: 'branch' }))
    await expect(holdfast.exec({ workspace: id, argv: ['true'] })).rejects.toMatchObject({ details: { reason: 'workspace_not_found' } })
    writeFileSync(file, JSON.stringify(record))
    expect((await holdfast.exec({ workspace: id, argv: ['true'] })).outcome).toMatchObject({ exitCode: 0 })
  })

  inPlace('has a home of its own of this user alone, which goes with it; a command that stands in its tree is in it, too', async (place) => {
    const holdfast = await openWithCredentials(place)
    const { id, path } = await holdfast.openWorkspace({ operator: 'reviewer' })
    const run = await holdfast.exec({ workspace: id, script: 'echo x >"$HOME/note"; echo "$HOME"; echo "$TMPDIR"' })
    const [home = '', temporary = ''] = logOf(run).split('\n')
    for (const folder of [home, temporary]) expect(statSync(folder).mode & 0o777).toBe(0o700)
    expect(home.startsWith(path)).toBe(false)
    const { stdout } = await place.cli(['exec', '--json', '--', 'sh', '-c', 'cat "$HOME/note"; echo "$GH_TOKEN"'], { cwd: path, env: { GH_TOKEN: secret } })
    expect(JSON.parse(stdout)).toMatchObject({ workspace: id, outcome: exited(0), stdout: { bytes: 3 } })
    await holdfast.releaseWorkspace({ workspace: id })
    expect([existsSync(home), existsSync(path)]).toEqual([false, false])
  })

  inPlace('begins detached at the base, and is the same one for the same operator', async (place) => {
    const holdfast = await openWithCredentials(place)
    const first = await holdfast.openWorkspace({ operator: 'a', base: 'main' })
    expect(await holdfast.openWorkspace({ operator: 'a' })).toMatchObject({ id: first.id, path: first.path, created: false })
    expect((await holdfast.openWorkspace({ operator: 'b' })).path).not.toBe(first.path)
    const run = await holdfast.exec({ workspace: first.id, script: 'git symbolic-ref -q HEAD; git rev-parse HEAD' })
    expect(logOf(run)).toBe(`${gitIn(place, 'rev-parse', 'main')}\n`)
  })
})

describeSupervised('a sandbox with work in it', () => {
  inPlace('has runs in the background and files like any other workspace, and is released with both', async (place) => {
    const holdfast = await openWithCredentials(place)
    const { id, path } = await holdfast.openWorkspace({ operator: 'reviewer' })
    const workspace = 'operator:reviewer'
    expect(await holdfast.writeFile({ workspace, path: 'notes/first.md', content: 'first\n' })).toMatchObject({ path: 'notes/first.md', created: true })
    const run = await holdfast.exec({ workspace, script: 'cat notes/first.md; echo "token: <$API_TOKEN>"; echo $$ >pid; exec sleep 60', detach: true })
    await until('it has begun', async () => (await holdfast.listFiles({ workspace })).entries.some(({ name }) => name === 'pid'))
    expect((await holdfast.output({ run: run.id })).text).toBe('first\ntoken: <>\n')
    expect(await holdfast.workspaceStatus({ workspace })).toMatchObject({ id, running: [{ run: run.id }], dirty: { untracked: 2 } })
    await expect(holdfast.writeFile({ workspace, path: '../out', content: '' })).rejects.toMatchObject({ details: { reason: 'file_outside' } })
    await expect(holdfast.releaseWorkspace({ workspace })).rejects.toMatchObject({ details: { reason: 'workspace_busy' } })
    const released = await holdfast.releaseWorkspace({ workspace, stop: true })
    expect(released).toMatchObject({ id, released: true, stopped: [run.id], branch: null })
    expect(gitIn(place, 'show', `${released.rescue}:notes/first.md`)).toBe('first')
    expect(existsSync(path)).toBe(false)
    expect(await holdfast.show({ run: run.id })).toMatchObject({ state: 'ended', outcome: { kind: 'canceled' } })
  })
})

describe('a setup', () => {
  inPlace('runs once in a tree without credentials, is a run like any other, and its failure keeps the tree', async (place) => {
    const holdfast = await openWithCredentials(place)
    const setup = `${look}\necho ran >>setup.log; test -e allowed`
    const failed = await holdfast.openWorkspace({ branch: 'work', setup }).catch((error: { details: Record<string, unknown> }) => error)
    expect(failed).toMatchObject({ details: { reason: 'setup_failed', attempt: 1 } })
    const { details } = failed as { details: { run: string } }
    const output = await holdfast.output({ run: details.run })
    expect(output.text).toContain('asked: ')
    const shown = await holdfast.show({ run: details.run })
    expect(readFileSync(shown.stdout.path, 'utf8') + readFileSync(shown.stderr.path, 'utf8')).not.toContain(secret)
    expect(shown.purpose).toMatch(/^setup of workspace [0-9a-f]{10}$/)
    expect((await holdfast.search({ query: 'asked' })).hits.map(({ run }) => run)).toContain(details.run)
    const [row] = await holdfast.listWorkspaces({})
    expect(row).toMatchObject({ state: 'ready', setup: { state: 'failed', attempt: 1 } })
    const path = row?.path ?? ''
    writeFileSync(join(path, 'allowed'), '')
    expect(await holdfast.setupWorkspace({ workspace: 'work' })).toMatchObject({ id: row?.id, setup: { state: 'done', attempt: 2 } })
    await holdfast.openWorkspace({ branch: 'work', setup })
    expect(readFileSync(join(path, 'setup.log'), 'utf8')).toBe('ran\nran\n')
    expect(readdirSync(path)).not.toContain('.holdfast')
  })
})
