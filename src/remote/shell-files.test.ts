import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync } from 'node:fs'
import { expect, it } from 'vitest'
import { describeFiles } from '../../test/conformance/files.ts'
import { type LocalSiteOptions, openLocalSite } from '../../test/support/local-site.ts'
import { isTriedOverSsh } from '../../test/support/ssh-server.ts'
import { openWorld } from '../../test/support/world.ts'
import { createShellFiles } from './shell-files.ts'

const nobody = 65_534
/** Somebody who may not do everything. */
const asNobody: readonly string[] = process.getuid?.() === 0 ? ['setpriv', `--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups'] : []

function openPlace({
  shell: [program, ...args],
  as = [],
  ...options
}: Omit<LocalSiteOptions, 'root' | 'folder' | 'shell'> & { shell: readonly [string, ...string[]]; as?: readonly string[] }) {
  const world = openWorld()
  const folder = world.path('place')
  const root = world.path('place', 'ws')
  mkdirSync(root, { recursive: true })
  if (as.length > 0) {
    for (let path = folder; path !== '/tmp' && path !== '/'; path = path.slice(0, path.lastIndexOf('/')) || '/') chmodSync(path, 0o755)
    for (const path of [folder, root]) chownSync(path, nobody, nobody)
  }
  const applets = world.path('applets')
  mkdirSync(applets)
  // Busybox brings its own programs.
  if (program === 'busybox') execFileSync('busybox', ['--install', '-s', applets])
  const env = { PATH: `${applets}:${process.env.PATH}` }
  const [first, ...rest] = [...as, program, ...args]
  const site = openLocalSite({ root, folder: world.path('site'), env, ...options, shell: [first as string, ...rest] })
  const [sh, ...shArgs] = [...as, '/bin/sh', '-c']
  return {
    files: createShellFiles(site),
    site,
    root,
    capabilities: { confinedFiles: false },
    sh: async (script: string) => execFileSync(sh as string, [...shArgs, script], { cwd: folder, env: world.env }),
    async close() {
      await site[Symbol.asyncDispose]()
      await world[Symbol.asyncDispose]()
    },
  }
}

if (isTriedOverSsh()) it.skip('files of a far site, by dash: tried over ssh, and HOLDFAST_TEST_ALL is not 1', () => {})
else describeFiles('a far site, by dash', { open: async () => openPlace({ shell: ['dash'], as: asNobody }) })
describeFiles('a far site, by busybox, whose input cannot be ended alone', { open: async () => openPlace({ shell: ['busybox', 'sh'], canEndInput: false }) })

async function* failing(): AsyncGenerator<Uint8Array> {
  yield Buffer.alloc(1_000_000)
  throw new Error('no more')
}

it('content that is refused is taken all the same: where an engine cannot be rid of it, the refusal is lost with it', async () => {
  const { site, close, sh } = openPlace({ shell: ['dash'] })
  // Whoever is refused lets go of the script, which is not to have ended before.
  const open: typeof site.open = async (request) => {
    const channel = await site.open(request)
    return { ...channel, close: () => void setTimeout(channel.close, 200) }
  }
  const files = createShellFiles({ ...site, open })
  try {
    await sh('mkdir ws/sub; ln -s / ws/out')
    for (const path of ['sub', 'out/x', 'sub/'])
      for (const name of ['write', 'append'] as const)
        await expect(files[name](path, Buffer.alloc(1_000_000)), path).rejects.toMatchObject({ details: { path } })
    expect(site.untaken).toBe(0)
  } finally {
    await close()
  }
})

const odd = ["it's $x", 'a\nb\n', '-n', '\u200cé']

it('works by bash, and behind login files that print', async () => {
  const { files, sh, close } = openPlace({ shell: ['bash', '--posix'], noise: 'Welcome!\n@00 failed\n' })
  try {
    await sh('mkdir ws/sub; ln -s sub ws/link; ln -s ../outside ws/out; mkdir outside')
    for (const name of odd) {
      const path = `link/${name}`
      expect(await files.write(path, name)).toEqual({ path: `sub/${name}`, bytes: Buffer.byteLength(name), created: true, route: 'staged' })
      expect(await files.append(path, '+')).toMatchObject({ path: `sub/${name}`, created: false })
      expect(await files.readText(path)).toMatchObject({ text: `${name}+` })
    }
    expect((await files.list('link')).entries.map(({ name }) => name)).toEqual([...odd].sort())
    await expect(files.write('out/x', '')).rejects.toMatchObject({ details: { reason: 'file_outside' } })
    await expect(files.readText('none')).rejects.toMatchObject({ details: { reason: 'file_missing' } })
    await expect(files.upload('sub/-n', failing())).rejects.toThrow('no more')
    expect(await files.move('sub/-n', 'new/name')).toMatchObject({ path: 'new/name' })
    expect(await files.remove('sub', { recursive: true })).toMatchObject({ entries: 4 })
    expect(String(await sh('ls -A ws outside'))).toBe('outside:\n\nws:\nlink\nnew\nout\n')
  } finally {
    await close()
  }
})

it('tells nothing of what is outside, not even why a path cannot be used there', async () => {
  const { files, sh, close } = openPlace({ shell: ['dash'], as: asNobody })
  try {
    await sh('mkdir -p outside/hidden; chmod 000 outside/hidden; echo x > outside/file; ln -s ../outside ws/out')
    for (const path of [`out/${'x'.repeat(300)}`, 'out/hidden/below', 'out/none/below', 'out/file/below', 'out/file', 'out/none'])
      await expect(files.stat(path), path).rejects.toMatchObject({ details: { reason: 'file_outside', path, why: 'leads outside' } })
  } finally {
    await sh('chmod 700 outside/hidden')
    await close()
  }
})

it('waits for the name that a file was staged under, and then adds to the file itself', async () => {
  const { files, sh, close } = openPlace({ shell: ['dash'] })
  try {
    const staged = 'ws/.holdfast-staged-4194304--000000000000-0123456789abcdef'
    await sh(`printf a > ws/log; ln ws/log ${staged}; (sleep 0.4; rm ${staged}) >/dev/null 2>&1 &`)
    expect(await files.append('log', 'b')).toMatchObject({ route: 'in-place' })
    expect(String(await sh('cat ws/log; ls -A ws'))).toBe('ablog\n')
  } finally {
    await close()
  }
})

it('loses contact, and says so, while a file is read', async () => {
  const { files, site, sh, close } = openPlace({ shell: ['dash'] })
  try {
    await sh('echo x > ws/file')
    const bound = await files.openBound('file')
    site.cut()
    await expect(bound.read(0, 1)).rejects.toMatchObject({ details: { reason: 'contact_lost' } })
    await expect(files.readText('file')).resolves.toMatchObject({ text: 'x\n' })
  } finally {
    await close()
  }
})

it('is told of a disk that is full, and the file keeps what it had', async (test) => {
  const { files, sh, close } = openPlace({ shell: ['dash'] })
  try {
    const isMounted = await sh('mount -t tmpfs -o size=128k none ws 2>/dev/null').then(
      () => true,
      () => false,
    )
    if (!isMounted) return test.skip('nothing can be mounted here')
    try {
      await files.write('file', 'old')
      await expect(files.write('file', Buffer.alloc(300_000))).rejects.toMatchObject({ details: { reason: 'file_failed', errno: 'ENOSPC' } })
      await expect(files.upload('new', tooMuch())).rejects.toMatchObject({ details: { reason: 'file_failed', errno: 'ENOSPC' } })
      expect(String(await sh('cat ws/file; ls -A ws'))).toBe('oldfile\n')
    } finally {
      await sh('umount ws')
    }
  } finally {
    await close()
  }
})

async function* tooMuch(): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < 20; at += 1) yield Buffer.alloc(100_000)
}
