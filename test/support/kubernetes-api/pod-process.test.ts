import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeImageRoot } from './image-root.ts'
import { buildPodEnter, type ContainerTerms, type RunningContainer, type StartedProcess, startContainer, whyNoPods } from './pod-process.ts'

const why = whyNoPods()
if (why !== undefined) console.warn(`skipped: tests of the processes of pods: ${why}`)

describe.skipIf(why !== undefined)('the processes of a pod', () => {
  let folder: string
  const open: RunningContainer[] = []
  const terms = (more: Partial<ContainerTerms> = {}): ContainerTerms => ({
    argv: ['/bin/idle'],
    cwd: '/workspace',
    uid: 0,
    gid: 0,
    capabilities: 0xa80425fbn,
    noNewPrivileges: false,
    folder: join(folder, `container-${open.length}`),
    imageRoot: join(folder, 'image'),
    mounts: [],
    environment: { PATH: '/usr/bin:/bin', GREETING: 'a b\nc' },
    hostname: 'podhost',
    readOnlyRoot: false,
    memoryBytes: undefined,
    stdin: false,
    ...more,
  })
  const begin = async (more?: Partial<ContainerTerms>): Promise<RunningContainer> => {
    const made = await startContainer(terms(more))
    open.push(made)
    return made
  }
  const textOf = async (process: StartedProcess): Promise<string> => {
    let text = ''
    for await (const piece of process.stdout) text += piece
    return text
  }
  const sh = (script: string) => ({ ...terms(), argv: ['sh', '-c', script] })

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'holdfast-test-'))
    mkdirSync(join(folder, 'image'))
    makeImageRoot(join(folder, 'image'))
  })
  afterAll(async () => {
    for (const container of open) container.signal('SIGKILL')
    await Promise.all(open.map((container) => container.ended))
    await rm(folder, { recursive: true, force: true })
  })

  it('see only each other and their own root, with the variables and rights of the container', async () => {
    const container = await begin()
    const seen = await textOf(
      await container.exec(
        sh(
          'echo "$GREETING"; hostname; pwd; ls / | tr "\\n" " "; echo; grep CapEff /proc/self/status; ps -o comm >/tmp/programs; sort -u /tmp/programs | tr "\\n" " "',
        ),
      ),
    )
    const [names, rights, programs] = [
      'bin dev etc home lib lib64 proc root run sbin sys tmp usr var workspace',
      'CapEff:\t00000000a80425fb',
      'COMMAND idle ps sh sleep',
    ]
    expect(
      seen
        .replace(/\{(\w+)\}/g, '$1')
        .split('\n')
        .map((line) => line.trim()),
    ).toEqual(['a b', 'c', 'podhost', '/workspace', names, rights, programs])
  })

  it('lead sessions of their own, and end with the first of them', async () => {
    const container = await begin()
    const process = await container.exec(sh('echo $(( $(cut -d" " -f6 /proc/self/stat) == $$ )); exec sleep 1000'))
    const first = await new Promise((resolve) => process.stdout.once('data', (piece) => resolve(String(piece))))
    container.signal('SIGKILL')
    expect([await container.exited, await process.exited]).toEqual([137, 137])
    expect(first).toBe('1\n')
    await expect(container.exec(sh('true'))).rejects.toThrow('container not running')
  })

  it('are told by a code that they could not be started', async () => {
    await expect(startContainer(terms({ argv: ['no-such'], folder: join(folder, 'none') }))).rejects.toMatchObject({
      code: 127,
      message: 'executable file not found in $PATH',
    })
    const container = await begin()
    await expect(container.exec({ ...terms(), argv: ['/etc/passwd'] })).rejects.toMatchObject({ code: 126, message: 'permission denied' })
    await expect(container.exec({ ...sh('true'), cwd: '/nowhere' })).rejects.toThrow(/chdir to cwd \("\/nowhere"\)/)
  })

  it('keep the output of a program that was over before anybody listened', async () => {
    const container = await begin()
    const process = await container.exec(sh('echo early'))
    await process.exited
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(await textOf(process)).toBe('early\n')
  })

  it('end when who started them is killed', async () => {
    const root = join(folder, 'killed')
    mkdirSync(root)
    writeFileSync(join(folder, 'variables'), 'PATH=/bin\0')
    const setup = `mount --make-rprivate /; mount --rbind / '${root}'; mount -t proc proc '${root}/proc'`
    const args = ['new', setup, root, '/', '0', '0', 'ffffffffff', '0', join(folder, 'variables'), '', 'sleep', '1000']
    const starter = spawn('sh', ['-c', '"$0" "$@" & exec 3>&-; wait', buildPodEnter(), ...args], { stdio: ['ignore', 'ignore', 'inherit', 'pipe'] })
    const report = starter.stdio[3] as Readable
    let said = ''
    for await (const piece of report) said += piece
    const pid = Number(/^pid (\d+)\n$/.exec(said)?.[1])
    expect(existsSync(`/proc/${pid}`)).toBe(true)
    starter.kill('SIGKILL')
    await expect.poll(() => existsSync(`/proc/${pid}`), { timeout: 10_000 }).toBe(false)
  })
})
