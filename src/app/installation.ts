import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { personConfigPath } from '../config/load.ts'
import { failure, messageOf } from '../core/errors.ts'
import { type ConfigFile, containersIn, foundEntries, installedText, removedText } from '../hosts/config/config-file.ts'
import { defaultScope, type HostPlaces, hostConfigs, type Scope, scopes } from '../hosts/config/host-config.ts'
import { unifiedDiff } from '../hosts/config/unified-diff.ts'
import { type HostName, hostNames, hostOf, hostTitles } from '../hosts/host.ts'
import type { DoctorResult } from './api.ts'
import type { AppContext } from './context.ts'
import { examineHost } from './installation-doctor.ts'
import { type HeldFile, holdFile, removeFolders, type Writing, writeFiles } from './installation-files.ts'
import { findLauncher, findOnPath } from './installation-launcher.ts'
import { openInstallationRecords, originalOf, recordOf } from './installation-records.ts'

export interface InstallInput {
  /** Absent: the hosts that are on this machine are listed. */
  readonly host?: string | undefined
  /** For everybody who works on the project; or for this person. Neither: for this person. */
  readonly project?: boolean | undefined
  readonly user?: boolean | undefined
  /** Also sets `hooks.leadToExec`: the agent is told of exec where a shell of its own printed much. */
  readonly leadToExec?: boolean | undefined
  /** Nothing is written. */
  readonly dryRun?: boolean | undefined
}

export interface InstalledFile {
  /** As the host names it. */
  readonly path: string
  readonly action: 'create' | 'change' | 'remove' | 'unchanged'
  /** To be read: what looks like a secret is masked, long lines are cut. */
  readonly diff: string
}

export interface InstallResult {
  /** null where none was named. */
  readonly host: HostName | null
  readonly scope: Scope | null
  readonly dryRun: boolean
  /** Whether a file was changed, or would be. */
  readonly changed: boolean
  readonly files: readonly InstalledFile[]
  /** What is to be done for it to take effect. */
  readonly next: readonly string[]
  /** Where none was named. */
  readonly hosts: readonly HostOnMachine[]
  readonly warnings: readonly string[]
}

export interface HostOnMachine {
  readonly host: HostName
  readonly title: string
  /** What says that it is there; null where nothing does. */
  readonly found: string | null
  /** Where Holdfast is installed in it. */
  readonly installed: readonly Scope[]
  /** What is typed to install it there. */
  readonly command: string
}

export interface InstallationUseCases {
  /** Writes our server and our hooks into the configuration of a coding agent. Twice is no change. */
  install(input: InstallInput): Promise<InstallResult>
  /** Takes away what is ours, and nothing else. */
  uninstall(input: Omit<InstallInput, 'leadToExec'> & { readonly host: string }): Promise<InstallResult>
  /** Proves an installation: starts what the host would start, and uses it. */
  examineHost(host: string): Promise<DoctorResult>
}

const acceptedHosts = hostNames.join(', ')

/** `program` is the built program that runs now. */
export function createInstallations(context: AppContext): InstallationUseCases {
  const { ownEnv, root, homePlace, machine, masking } = context
  const home = ownEnv.HOME || homedir()
  const places: HostPlaces = {
    home,
    settings: ownEnv.XDG_CONFIG_HOME && isAbsolute(ownEnv.XDG_CONFIG_HOME) ? ownEnv.XDG_CONFIG_HOME : join(home, '.config'),
    project: root,
    env: ownEnv,
    platform: process.platform,
    exists: existsSync,
  }
  const records = openInstallationRecords(homePlace.state)
  const launcher = findLauncher(context.program, ownEnv.PATH ?? '')
  const filesOf = (host: HostName, scope: Scope): readonly ConfigFile[] => hostConfigs[host].files(places, scope)
  const settingsFile = (scope: Scope): ConfigFile => ({
    path: scope === 'project' ? join(root, 'holdfast.json') : personConfigPath(ownEnv, home),
    format: 'jsonc',
    member: { path: ['hooks', 'leadToExec'], value: true },
  })
  const hold = ({ path }: ConfigFile, scope: Scope): HeldFile => holdFile(path, scope === 'project' ? root : undefined)
  const textIn = (file: ConfigFile): string | undefined => holdFile(file.path, undefined).text

  /** The scopes in which something of ours stands; a file that cannot be read has nothing. */
  function installedScopes(host: HostName): Scope[] {
    return scopes.filter((scope) =>
      filesOf(host, scope).some((file) => {
        try {
          const { server, hooks, source } = foundEntries(file, textIn(file))
          return server !== undefined || hooks.length > 0 || source !== undefined
        } catch {
          return false
        }
      }),
    )
  }

  function listHosts(): HostOnMachine[] {
    return hostNames.map((host) => {
      const { programs, signs } = hostConfigs[host]
      const found = findOnPath(programs, ownEnv.PATH ?? '') ?? signs(places).find((path) => existsSync(path)) ?? null
      return { host, title: hostTitles[host], found, installed: installedScopes(host), command: `holdfast install ${host}` }
    })
  }

  function resultOf(
    host: HostName,
    scope: Scope,
    writings: readonly Writing[],
    { dryRun = false, next = [] as readonly string[], warnings = [] as string[] },
  ): InstallResult {
    const files = writings.map(
      ({ file, text }): InstalledFile => ({
        path: file.path,
        action: file.text === text ? 'unchanged' : file.text === undefined ? 'create' : text === undefined ? 'remove' : 'change',
        diff: masking.general.mask(unifiedDiff(file.path, file.text, text)),
      }),
    )
    const changed = files.some(({ action }) => action !== 'unchanged')
    return { host, scope, dryRun, changed, files, next: changed ? next : [], hosts: [], warnings }
  }

  async function write(writings: readonly Writing[], scope: Scope): Promise<string[]> {
    return writeFiles(
      writings.filter(({ file, text }) => file.text !== text),
      machine,
      scope === 'user',
    )
  }

  return {
    async install(input) {
      if (input.host === undefined)
        return { host: null, scope: null, dryRun: input.dryRun === true, changed: false, files: [], next: [], hosts: listHosts(), warnings: [] }
      const [host, scope] = [requireHost(input.host), scopeOf(input)]
      const planned = [...filesOf(host, scope), ...(input.leadToExec ? [settingsFile(scope)] : [])]
        .map((config) => {
          const file = hold(config, scope)
          return { config, file, text: installedText(config, file.text, launcher.words) }
        })
        // A file that need not be there is no news.
        .filter(({ file, text }) => file.text !== undefined || text !== undefined)
      const warnings = [...(launcher.warning ? [launcher.warning] : []), ...(scope === 'project' ? foreignPaths(launcher.words) : [])]
      const { next } = hostConfigs[host]
      const result = resultOf(host, scope, planned, { dryRun: input.dryRun === true, next: next(scope), warnings })
      if (input.dryRun || !result.changed) return result
      const folders = await write(planned, scope)
      for (const { config, file, text } of planned) {
        if (text === undefined || file.text === text) continue
        const known = containersIn(config, file.text).map((path) => JSON.stringify(path))
        const containers = containersIn(config, text).filter((path) => !known.includes(JSON.stringify(path)))
        try {
          records.write(recordOf({ place: file.place, before: file.text, after: text, folders, containers }, records.find(file.place)))
        } catch (error) {
          warnings.push(`what was changed in ${file.path} could not be written down (${messageOf(error)}); holdfast uninstall takes out what it finds`)
        }
      }
      return result
    },
    async uninstall(input) {
      const [host, scope] = [requireHost(input.host), scopeOf(input)]
      // What was set for the agents goes with the last of them.
      const others = hostNames.filter((other) => other !== host && installedScopes(other).includes(scope))
      const settings = others.length === 0 ? [settingsFile(scope)].filter(({ path }) => records.find(holdFile(path, undefined).place)) : []
      const planned = [...filesOf(host, scope), ...settings].flatMap((config): Writing[] => {
        const file = hold(config, scope)
        if (file.text === undefined) return []
        const record = records.find(file.place)
        const original = record && originalOf(file.text, record)
        if (original) return [{ file, text: record.created ? undefined : original.text }]
        const left = removedText(config, file.text, record?.containers)
        const isEmptied = record?.created === true && left !== file.text && /^\s*(?:\{\s*\}\s*)?$/.test(left ?? '')
        return [{ file, text: isEmptied ? undefined : left }]
      })
      const elsewhere = installedScopes(host).filter((other) => other !== scope)
      const result = resultOf(host, scope, planned, { dryRun: input.dryRun === true })
      const warnings = result.changed ? [] : elsewhere.map((other) => `it is installed for the ${other}: holdfast uninstall ${host} --${other}`)
      if (input.dryRun || !result.changed) return { ...result, warnings }
      await write(planned, scope)
      const folders = planned.flatMap(({ file }) => records.find(file.place)?.folders ?? [])
      for (const { file } of planned) records.remove(file.place)
      removeFolders(folders)
      return { ...result, warnings }
    },
    examineHost: (name) => examineHost(context, requireHost(name), places),
  }
}

function requireHost(name: string): HostName {
  const host = hostOf(name)
  if (host === undefined) throw failure('invalid', { field: 'host', value: name, accepted: acceptedHosts })
  return host
}

function scopeOf({ project, user }: InstallInput): Scope {
  if (project && user) throw failure('invalid', { field: 'user', value: true, accepted: 'one of --project and --user' })
  return project ? 'project' : user ? 'user' : defaultScope
}

/** Others who have the project have no such path. */
function foreignPaths(words: readonly string[]): string[] {
  const found = words.find((word) => isAbsolute(word))
  return found === undefined
    ? []
    : [`the files of the project name ${found}, which others may not have; with the package installed (npm install -g), they name holdfast`]
}
