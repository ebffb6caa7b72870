import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { uptime } from 'node:os'
import { promisify } from 'node:util'
import { markVariable } from '../core/command.ts'
import type { Leftover, ProcessIdentity } from '../core/run.ts'
import { type ProcessStat, readStat, signalProcess } from './identity.ts'

/** What tells the processes of one run from all others. */
export interface TreeKey {
  /** The first process: leader of the group, or a group that is empty by now. */
  readonly leader: ProcessIdentity
  readonly mark: string
  /** Members that were found before, by pid with their start time: they stay members when nothing else shows it any more. */
  readonly seen?: Map<number, string> | undefined
}

/**
 * The living processes of a run, the first one included: members of its group and of its session, those that left both
 * (setsid, double fork) but carry its mark, and the children of all these. What cleared its environment and left the
 * session is not found once its parent is gone, unless it was found before.
 */
export async function findTree(key: TreeKey): Promise<ProcessStat[]> {
  return process.platform === 'linux' ? scanProc(key) : askPs(key)
}

function scanProc(key: TreeKey): ProcessStat[] {
  const found: ProcessStat[] = []
  // A pid is given again only when no group has its number any more: then members of that group are strangers.
  const first = readStat(key.leader.pid)
  const groupIsOurs = !first || first.startTime === key.leader.startTime
  const others: ProcessStat[] = []
  for (const pid of candidates(key.leader)) {
    const stat = pid === key.leader.pid ? first : readStat(pid)
    if (!stat || stat.zombie || startedBefore(stat.startTime, key.leader.startTime)) continue
    const inside = groupIsOurs && (stat.group === key.leader.pid || stat.session === key.leader.pid)
    if (inside || key.seen?.get(pid) === stat.startTime || carriesMark(pid, key.mark)) found.push(stat)
    else others.push(stat)
  }
  addChildren(found, others)
  for (const { pid, startTime } of found) key.seen?.set(pid, startTime)
  return found
}

function addChildren(found: ProcessStat[], others: readonly ProcessStat[]): void {
  const pids = new Set(found.map(({ pid }) => pid))
  let rest = others
  for (let before = -1; rest.length > 0 && before !== pids.size; ) {
    before = pids.size
    rest = rest.filter((stat) => {
      if (!pids.has(stat.parent)) return true
      pids.add(stat.pid)
      found.push(stat)
      return false
    })
  }
}

/** Descendants have a higher pid than the first process as long as pids have not wrapped around since. */
function candidates(leader: ProcessIdentity): number[] {
  const newest = newestPid(leader)
  // The usual end of a short command: nothing has been started since.
  if (newest === leader.pid) return [leader.pid]
  const pids: number[] = []
  const all = newest === undefined
  for (const name of readdirSync('/proc')) {
    const code = name.charCodeAt(0)
    if (code < 48 || code > 57) continue
    const pid = Number(name)
    if (all || pid >= leader.pid) pids.push(pid)
  }
  return pids
}

/** More processes and threads than this are not started in a second; so pids last at least for some time. */
const pidsPerSecond = 100_000
/** What start times are counted in (USER_HZ, the same on every Linux). */
const ticksPerSecond = 100

/** The pid that was given last, or undefined where pids may have begun anew since the first process got its own. */
function newestPid(leader: ProcessIdentity): number | undefined {
  try {
    // In some containers another program makes these files up, and is seconds behind.
    kernelTells ??= ['/proc/loadavg', '/proc/uptime'].every((path) => statSync(path).dev === statSync('/proc/self').dev)
    if (!kernelTells) return undefined
    const last = Number(readFileSync('/proc/loadavg', 'latin1').trim().split(' ').at(-1))
    pidLimit ??= Number(readFileSync('/proc/sys/kernel/pid_max', 'latin1'))
    const age = uptime() - Number(leader.startTime.split(':')[1]) / ticksPerSecond
    // A container may have an uptime of its own; then the age is below zero and tells nothing.
    return last >= leader.pid && age > -1 && age * pidsPerSecond < pidLimit ? last : undefined
  } catch {
    // Then every process is a candidate.
    return undefined
  }
}

let pidLimit: number | undefined
let kernelTells: boolean | undefined

function startedBefore(a: string, b: string): boolean {
  return Number(a.split(':')[1]) < Number(b.split(':')[1])
}

const needle = Buffer.from(`${markVariable}=`)

function carriesMark(pid: number, mark: string): boolean {
  let environ: Buffer
  try {
    environ = readFileSync(`/proc/${pid}/environ`)
  } catch {
    return false
  }
  for (let at = environ.indexOf(needle); at !== -1; at = environ.indexOf(needle, at + 1)) {
    if (at > 0 && environ[at - 1] !== 0) continue
    const end = environ.indexOf(0, at)
    const value = environ.toString('latin1', at + needle.length, end === -1 ? environ.length : end)
    if (value.split('/').includes(mark)) return true
  }
  return false
}

const run = promisify(execFile)

async function askPs(key: TreeKey): Promise<ProcessStat[]> {
  const { stdout } = await run('ps', ['-A', '-o', 'pid=,pgid=,stat=,lstart=,comm='], { timeout: 5_000, env: { LC_ALL: 'C', PATH: '/bin:/usr/bin' } })
  const found: ProcessStat[] = []
  for (const line of stdout.split('\n')) {
    const match = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(\w+\s+\w+\s+\d+\s+[\d:]+\s+\d+)\s+(.*)$/.exec(line)
    if (!match || Number(match[2]) !== key.leader.pid || match[3]?.startsWith('Z')) continue
    found.push({
      pid: Number(match[1]),
      group: Number(match[2]),
      session: 0,
      parent: 0,
      zombie: false,
      busy: /^[RDU]/.test(match[3] ?? ''),
      startTime: match[4] as string,
      name: match[5] as string,
    })
  }
  return found
}

/**
 * Sends a signal to every process of a run. `leaderUnreaped` says that the first process has not been waited for yet,
 * so that its group id cannot have been given to strangers. Resolves to whether any process got it.
 */
export async function signalTree(key: TreeKey, signal: NodeJS.Signals, leaderUnreaped: boolean): Promise<boolean> {
  // Before the group gets it: the children of who dies of it have another parent afterwards.
  const before = await findTree(key)
  const toGroup = leaderUnreaped && signalGroup(key.leader.pid, signal)
  let delivered = toGroup
  const members = new Map([...before, ...(await findTree(key))].map((member) => [member.pid, member]))
  const outside = [...members.values()].filter(({ group }) => !toGroup || group !== key.leader.pid)
  for (const member of outside) if (signalProcess(member, signal)) delivered = true
  if (signal === 'SIGKILL') return delivered
  // What is stopped acts on no other signal before it goes on.
  if (toGroup) signalGroup(key.leader.pid, 'SIGCONT')
  for (const member of outside) signalProcess(member, 'SIGCONT')
  return delivered
}

/** False where the group is empty or not ours any more. */
function signalGroup(group: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(-group, signal)
    return true
  } catch {
    return false
  }
}

export function toLeftovers(members: readonly ProcessStat[]): Leftover[] {
  return members.map(({ pid, name }) => ({ pid, name }))
}
