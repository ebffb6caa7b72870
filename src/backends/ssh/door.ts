import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import type { Door } from '../../core/channel.ts'
import { askProgram } from '../../process/ask-program.ts'
import type { SshCall } from './settings.ts'

const maxSaidBytes = 64 * 1024

/**
 * A socket of this machine beside that of a master, from which the server carries each connection to a Unix socket of the account
 * (`-L` of ssh(1)): no program is between. Undefined where the master takes no such wish. That there is a door does not say that the server
 * lets anybody through (AllowStreamLocalForwarding of sshd_config(5)): where it does not, whoever connects is cut off at once.
 */
export async function doorThrough(call: SshCall, master: string, socket: string): Promise<Door | undefined> {
  // ssh puts other things in the place of some letters, and which ones depends on its version.
  if (/[%$:\\]/.test(`${master}${socket}`)) return undefined
  const path = `${master}.${createHash('sha256').update(socket).digest('hex').slice(0, 8)}`
  const door = { path, close() {} }
  // It stays as long as its master, for all processes.
  if (existsSync(path)) return door
  // No configuration has a say in it: the master has all that is needed, and forwardings of the person's are none of ours.
  const argv = [call.argv[0], '-F', '/dev/null', '-o', `ControlPath=${master}`, '-O', 'forward', '-L', `${path}:${socket}`, '--', 'master'] as const
  const question = { argv: [...argv] as [string, ...string[]], cwd: '/', env: call.env, timeoutMs: call.connectTimeoutMs, maxBytes: maxSaidBytes }
  const answer = await askProgram(question).catch(() => undefined)
  // Of two who wish for it at once, one may be told that it is taken.
  return answer?.code === 0 || existsSync(path) ? door : undefined
}
