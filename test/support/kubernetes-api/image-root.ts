import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, copyFileSync, existsSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** A root for containers out of this machine's busybox and bash: user 1000 `user`, work folder /workspace, `/bin/idle` for a PID 1. */
export function makeImageRoot(root: string): void {
  const put = (path: string, text: string, mode = 0o644): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
    chmodSync(join(root, path), mode)
  }
  for (const name of ['bin', 'dev', 'etc', 'home/user', 'proc', 'root', 'run', 'sbin', 'sys', 'tmp', 'usr/bin', 'usr/sbin', 'var/tmp', 'workspace']) {
    mkdirSync(join(root, name), { recursive: true })
  }
  const busybox = join(root, 'bin/busybox')
  copyProgram(root, findProgram('busybox'), 'bin/busybox')
  for (const name of execFileSync(busybox, ['--list'], { encoding: 'utf8' }).split('\n')) {
    if (name !== '' && name !== 'busybox' && name !== 'bash') symlinkSync('busybox', join(root, 'bin', name))
  }
  symlinkSync('/bin/env', join(root, 'usr/bin/env'))
  copyProgram(root, findProgram('bash'), 'bin/bash')
  put('bin/idle', "#!/bin/sh\ntrap 'exit 0' TERM INT\nwhile :; do sleep 3600 & wait $!; done\n", 0o755)
  put('etc/passwd', 'root:x:0:0:root:/root:/bin/bash\nuser:x:1000:1000:user:/home/user:/bin/bash\n')
  put('etc/group', 'root:x:0:\nuser:x:1000:\n')
  put('etc/hosts', '127.0.0.1 localhost\n')
  chmodSync(join(root, 'tmp'), 0o1777)
  chmodSync(join(root, 'var/tmp'), 0o1777)
  chmodSync(join(root, 'root'), 0o700)
  chmodSync(join(root, 'workspace'), 0o777)
  for (const path of ['home/user']) chownSync(join(root, path), 1000, 1000)
}

export function findProgram(name: string): string {
  for (const folder of [...(process.env.PATH ?? '').split(':'), '/usr/bin', '/bin', '/usr/sbin', '/sbin']) {
    if (folder !== '' && existsSync(join(folder, name))) return realpathSync(join(folder, name))
  }
  throw new Error(`there is no ${name} here`)
}

function copyProgram(root: string, from: string, to: string): void {
  copyFileSync(from, join(root, to))
  chmodSync(join(root, to), 0o755)
  let libraries = ''
  try {
    libraries = execFileSync('ldd', [from], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  } catch {
    // It needs none.
  }
  for (const [library] of libraries.matchAll(/\/\S+/g)) {
    mkdirSync(dirname(join(root, library)), { recursive: true })
    if (!existsSync(join(root, library))) copyFileSync(realpathSync(library), join(root, library))
  }
}
