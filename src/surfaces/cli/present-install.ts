import type { InstalledFile, InstallResult } from '../../app/api.ts'
import { stripControls } from '../../core/text.ts'
import type { At } from './print.ts'
import { hanging, table } from './width.ts'

export function presentInstall(result: InstallResult, at: At): string {
  if (result.host === null) return presentHosts(result, at)
  if (!result.changed) return `Holdfast is installed in ${result.host} for the ${result.scope} already; nothing changes.`
  return presentFiles(result, at)
}

export function presentUninstall(result: InstallResult, at: At): string {
  if (!result.changed) return `Nothing of Holdfast is installed in ${result.host} for the ${result.scope}.`
  return presentFiles(result, at)
}

const done: Readonly<Record<InstalledFile['action'], string>> = { create: 'written', change: 'written', remove: 'removed', unchanged: 'unchanged' }

function presentFiles({ files, dryRun, next }: InstallResult, at: At): string {
  // As they are, for whoever reads them as a diff; but nothing in them moves on the terminal.
  const diffs = files.filter(({ diff }) => diff !== '').map(({ diff }) => diff.split('\n').map(stripControls).join('\n'))
  const lines = files.map(({ path, action }) => (dryRun && action !== 'unchanged' ? `would be ${done[action]}: ${path}` : `${done[action]}: ${path}`))
  return [...diffs, ...lines, ...next.map((step) => hanging('next: ', step, at.columns))].join('\n')
}

function presentHosts({ hosts }: InstallResult, { columns }: At): string {
  const found = hosts.filter((host) => host.found !== null)
  const rows = found.map(({ title, installed, command }) => [title, installed.length === 0 ? 'no' : installed.join(', '), command])
  const others = hosts.filter((host) => host.found === null).map(({ host }) => host)
  const rest = others.length === 0 ? [] : [hanging('not found here: ', others.join(', '), columns)]
  return [
    ...(rows.length === 0 ? ['No coding agent was found on this machine.'] : [table([['AGENT', 'INSTALLED', 'TO INSTALL'], ...rows], columns)]),
    ...rest,
  ].join('\n')
}
