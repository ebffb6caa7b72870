import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Running } from '../core/backend.ts'
import { displayArgv } from '../core/command.ts'
import { messageOf } from '../core/errors.ts'
import type { RunProgram } from '../core/program.ts'
import { oneLine } from '../core/text.ts'
import { pause, systemClock } from '../engine/clock.ts'
import { createProgramRunner } from '../engine/collect.ts'
import { type ConfigFile, type FoundEntries, foundEntries, installedText } from '../hosts/config/config-file.ts'
import { type HostPlaces, hostConfigs, type Scope, scopes } from '../hosts/config/host-config.ts'
import { serverOptions } from '../hosts/config/ours.ts'
import { eventNames } from '../hosts/events.ts'
import { type HostName, hostTitles } from '../hosts/host.ts'
import type { DoctorResult } from './api.ts'
import type { AppContext } from './context.ts'
import { holdFile } from './installation-files.ts'
import { talkTo } from './installation-talk.ts'
import { newRunId } from './run-id.ts'

type Check = DoctorResult['checks'][number]

/** What a host grants a server at the least, from its start to the answer of a first call. */
const proofMs = 10_000
const hookMs = 5_000
/** A hook that takes longer is felt. */
const slowHookMs = 1_000
const endMs = 2_000

/** What of ours stands in the files of one scope. */
interface Found extends FoundEntries {
  readonly scope: Scope
  readonly files: readonly string[]
  /** The words that start Holdfast, without what is asked of it. */
  readonly launcher: readonly string[]
  /** Whether holdfast install would change something. */
  readonly isOld: boolean
}

/** Reads back what is installed in a host, starts it as the host would, and uses it. */
export async function examineHost(context: AppContext, host: HostName, places: HostPlaces): Promise<DoctorResult> {
  const checks: Check[] = []
  const found = scopes.flatMap((scope) => lookInto(host, scope, places, checks))
  // Hosts take what a project says before what a person says.
  const [effective] = found
  if (!effective && checks.length === 0) checks.push(failed('entry', `Holdfast is not installed in ${hostTitles[host]}; holdfast install ${host} does it`))
  if (effective) {
    checks.push(entryCheck(host, effective, found))
    const session = await context.openPlainSession()
    try {
      const env = environmentOf(host, { ...context.ownEnv, ...effective.server?.env })
      const run = createProgramRunner(async () => session, newRunId)
      checks.push(
        ...(await inScratchHome((HOLDFAST_HOME) => proveServer(context, effective, { ...env, HOLDFAST_HOME }))),
        await proveHook({ host, root: context.root, found: effective, env, run }),
      )
    } finally {
      await session.close()
    }
  }
  return { ok: checks.every(({ status }) => status !== 'failed'), checks }
}

const failed = (name: string, detail: string): Check => ({ name, status: 'failed', detail })

function lookInto(host: HostName, scope: Scope, places: HostPlaces, checks: Check[]): Found[] {
  const files = hostConfigs[host].files(places, scope)
  try {
    const all = files.map((file) => ({ file, text: holdFile(file.path, scope === 'project' ? places.project : undefined).text })).map(withEntries)
    const ours = all.filter(({ server, hooks, source }) => server !== undefined || hooks.length > 0 || source !== undefined)
    if (ours.length === 0) return []
    const server = ours.find((each) => each.server)?.server
    const options = server && serverOptions(server.words)
    const launcher = server ? server.words.slice(0, -1 - (options?.length ?? 0)) : []
    return [
      {
        scope,
        files: ours.map(({ file }) => file.path),
        server,
        hooks: ours.flatMap(({ hooks }) => hooks),
        source: ours.find(({ source }) => source !== undefined)?.source,
        launcher,
        isOld: launcher.length > 0 && all.some(({ file, text }) => installedText(file, text, launcher) !== text),
      },
    ]
  } catch (error) {
    checks.push(failed('entry', messageOf(error)))
    return []
  }
}

const withEntries = ({ file, text }: { file: ConfigFile; text: string | undefined }) => ({ file, text, ...foundEntries(file, text) })

function entryCheck(host: HostName, effective: Found, found: readonly Found[]): Check {
  const name = 'entry'
  const where = found.map(({ scope, files }) => `for the ${scope} in ${files.join(' and ')}`).join('; ')
  const again = `holdfast install ${host} --${effective.scope}`
  if (!effective.server) return failed(name, `only hooks are installed, ${where}, and no server; ${again} writes it`)
  if (effective.server.isOff) return failed(name, `the server is turned off in ${effective.files[0]}; turn it on in ${hostTitles[host]}`)
  if (effective.isOld) return { name, status: 'warning', detail: `${where}; it is not as this version writes it: ${again} brings it up to date` }
  return { name, status: 'ok', detail: `${where}${found.length > 1 ? `; that of the ${effective.scope} counts here` : ''}` }
}

/** What is run for the proof is no work of the project: it is in a home of its own, which goes with it. */
async function inScratchHome<T>(prove: (home: string) => Promise<T>): Promise<T> {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-doctor-'))
  try {
    return await prove(home)
  } finally {
    // A supervisor that has lost its home ends; until then it may still write there.
    rmSync(home, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** What a host hands on of the person's environment. */
function environmentOf(host: HostName, env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const { passes = () => true } = hostConfigs[host]
  return Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined && passes(entry[0])))
}

async function proveServer(context: AppContext, { server }: Found, env: Readonly<Record<string, string>>): Promise<Check[]> {
  const [program, ...args] = server?.words ?? []
  if (program === undefined) return []
  const session = await context.openPlainSession()
  let running: Running
  try {
    const argv = [program, ...args] as const
    running = await session.start(
      { argv: [...argv], cwd: context.root, env, stdin: 'fed', mark: newRunId() },
      { stdout: '/dev/null', stderr: '/dev/null', maxBytes: 0 },
    )
  } catch (error) {
    return [failed('server', `${displayArgv(server?.words ?? [])} cannot be started: ${messageOf(error)}`)]
  }
  const late = new AbortController()
  const talk = talkTo(running)
  const steps: Check[] = []
  try {
    const tooLate = pause(systemClock, proofMs, late.signal).then(() => Promise.reject(new Error(`no answer within ${proofMs / 1_000} seconds`)))
    await Promise.race([prove(talk, steps), tooLate])
    return steps
  } catch (error) {
    const said = talk.complaint()
    const name = ['server', 'tools', 'exec'][steps.length] as string
    return [
      ...steps,
      failed(name, `${displayArgv(server?.words ?? [])}: ${messageOf(error)}${said === '' ? '' : ` (it said: ${oneLine(said)})`}; run it yourself to see more`),
    ]
  } finally {
    late.abort()
    await end(running)
    await session.close()
  }
}

async function prove(talk: ReturnType<typeof talkTo>, steps: Check[]): Promise<void> {
  const { serverInfo } = await talk.request('initialize', {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'holdfast-doctor', version: '1' },
  })
  await talk.notify('notifications/initialized')
  const { name, version } = (serverInfo ?? {}) as { name?: string; version?: string }
  steps.push({ name: 'server', status: 'ok', detail: `${name ?? 'a server'} ${version ?? ''} starts and answers`.replace('  ', ' ') })
  const { tools } = (await talk.request('tools/list', {})) as { tools?: readonly { readonly name: string }[] }
  if (!tools?.some((tool) => tool.name === 'exec')) throw new Error('it has no tool exec')
  steps.push({ name: 'tools', status: 'ok', detail: `${tools.length} tools, exec among them` })
  const word = `holdfast-doctor-${newRunId()}`
  const answer = await talk.request('tools/call', { name: 'exec', arguments: { argv: ['echo', word], purpose: 'holdfast doctor' } })
  if (answer.isError === true || !JSON.stringify(answer.content ?? '').includes(word)) throw new Error('exec does not answer what echo prints')
  steps.push({ name: 'exec', status: 'ok', detail: 'a command runs, and its output comes back' })
}

/** A server ends when nobody talks to it any more; one that does not is ended. */
async function end(running: Running): Promise<void> {
  await running.endInput()
  for (const signal of ['SIGTERM', 'SIGKILL', undefined] as const) {
    const stop = new AbortController()
    const isOver = await Promise.race([
      running.ended.then(
        () => true,
        () => true,
      ),
      pause(systemClock, endMs, stop.signal).then(() => false),
    ])
    stop.abort()
    if (isOver || signal === undefined) break
    await running.signal(signal)
  }
  running.release()
}

interface HookProof {
  readonly host: HostName
  readonly root: string
  readonly found: Found
  readonly env: Readonly<Record<string, string>>
  readonly run: RunProgram
}

/** Runs the hook of a session's start as the host would, with what the host would say. */
async function proveHook({ host, root, found, env, run }: HookProof): Promise<Check> {
  const name = 'hooks'
  const event = eventNames[host]['session-start'] as string
  const installed = found.hooks.find((hook) => hook.event === event)
  if (!installed && found.source === undefined) return failed(name, `no hook is installed for ${event}; holdfast install ${host} --${found.scope} writes them`)
  const argv = installed ? (['/bin/sh', '-c', installed.command] as const) : ([...commandIn(found.source ?? ''), 'hook', host, event] as const)
  const shown = installed?.command ?? displayArgv(argv)
  const startedAt = systemClock.now()
  try {
    const { outcome, stdout, stderr } = await run({
      argv: [...argv],
      cwd: root,
      env,
      stdin: JSON.stringify(sessionStart(event, root)),
      timeoutMs: hookMs,
      maxOutputBytes: 64 * 1024,
    })
    const tookMs = Math.round(systemClock.now() - startedAt)
    const [answer, complaint] = [stdout, stderr].map((bytes) => Buffer.from(bytes).toString('utf8').trim()) as [string, string]
    if (outcome.kind === 'timed_out') return failed(name, `${shown} did not answer within ${hookMs / 1_000} seconds`)
    if (outcome.exitCode !== 0) return failed(name, `${shown} ended with exit code ${outcome.exitCode}${complaint === '' ? '' : `: ${oneLine(complaint)}`}`)
    if (answer !== '' && !isJson(answer)) return failed(name, `${shown} answers what is no JSON: ${oneLine(answer).slice(0, 200)}`)
    const what = installed ? `${found.hooks.length} hooks` : 'a plugin'
    return { name, status: tookMs > slowHookMs ? 'warning' : 'ok', detail: `${what}; ${event} was answered in ${tookMs} ms` }
  } catch (error) {
    return failed(name, `${shown} cannot be run: ${messageOf(error)}`)
  }
}

/** The words with which a plugin of ours starts Holdfast. */
function commandIn(source: string): readonly [string, ...string[]] {
  const words = /^const command = (\[.{1,4000}\])$/m.exec(source)?.[1]
  return words === undefined ? ['holdfast'] : (JSON.parse(words) as [string, ...string[]])
}

/** What hosts say when a session starts; each has names of its own for the same. */
function sessionStart(event: string, root: string): Readonly<Record<string, unknown>> {
  const id = 'holdfast-doctor'
  const names = { session_id: id, sessionId: id, conversation_id: id, hook_event_name: event, hookEventName: event }
  return { ...names, cwd: root, workspace_roots: [root], transcript_path: null, source: 'startup', timestamp: new Date().toISOString() }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
