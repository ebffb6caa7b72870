/** A setting of git: its name and its value. */
export type Setting = readonly [name: string, value: string]

/**
 * What a repository may configure and git would then run, ask or speak to (git-config(1), githooks(5)), and what would change the output
 * that is read: for every call, as arguments, so that no file of the repository is asked and no race is lost.
 */
export const everyCall: readonly Setting[] = [
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  ['core.editor', 'true'],
  ['sequence.editor', 'true'],
  ['core.pager', 'cat'],
  ['core.askPass', ''],
  // Asked what other object stores have; the answer only spares work.
  ['core.alternateRefsCommand', 'true'],
  ['gpg.program', 'false'],
  ['gpg.openpgp.program', 'false'],
  ['gpg.x509.program', 'false'],
  ['gpg.ssh.program', 'false'],
  ['gpg.ssh.defaultKeyCommand', 'false'],
  ['log.showSignature', 'false'],
  ['merge.verifySignatures', 'false'],
  ['commit.gpgSign', 'false'],
  ['tag.gpgSign', 'false'],
  // Each would start git inside of a submodule, whose configuration is its own.
  ['submodule.recurse', 'false'],
  ['fetch.recurseSubmodules', 'false'],
  ['diff.submodule', 'short'],
  ['status.submoduleSummary', 'false'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['gc.worktreePruneExpire', 'never'],
  ['protocol.ext.allow', 'never'],
  // A file of grafts is named only so that none is read; told with every answer, this would hide what git says.
  ['advice.graftFileDeprecated', 'false'],
  ['color.ui', 'false'],
  ['diff.noprefix', 'false'],
  ['diff.mnemonicPrefix', 'false'],
]

/** Where the command stands in arguments that may begin with `-c name=value`. */
export function commandAt(args: readonly string[]): number {
  let at = 0
  while (at < args.length && (args[at] as string).startsWith('-')) at += args[at] === '-c' || args[at] === '-C' ? 2 : 1
  return at
}

const diffs = ['diff', 'diff-files', 'diff-index']
const showsPatches = [...diffs, 'diff-tree', 'log', 'show', 'format-patch', 'whatchanged']

/** Whether an option says which program speaks on the other side. */
export const takesProgram = (command: string | undefined): boolean => command === 'fetch' || command === 'ls-remote'

/** The same arguments with the options that keep the command from running what a repository names, where settings cannot. */
export function guarded(args: readonly string[]): string[] {
  const at = commandAt(args)
  const command = args[at] ?? ''
  const added: string[] = []
  if (showsPatches.includes(command)) added.push('--no-ext-diff', '--no-textconv')
  // git would look for changes inside of each submodule by starting itself there, filters and all.
  const says = args.some((arg) => arg.startsWith('--ignore-submodules'))
  if ((diffs.includes(command) || command === 'status') && !says) added.push('--ignore-submodules=dirty')
  // The first program that is configured counts, so that a setting of ours does not.
  if (takesProgram(command) && !args.some((arg) => arg.startsWith('--upload-pack'))) added.push('--upload-pack=git-upload-pack')
  return [...args.slice(0, at + 1), ...added, ...args.slice(at + 1)]
}

/**
 * Commands that neither look at a file of a tree nor write an index: no filter, no driver for merges and no ignore rule concerns them. Who
 * writes an index (as `write-tree` does) compares files that are as young as it, by what their filter makes of them.
 */
const withoutFiles = new Set([
  ...['for-each-ref', 'show-ref', 'update-ref', 'symbolic-ref', 'pack-refs', 'rev-parse', 'rev-list', 'merge-base', 'check-ref-format'],
  ...['cat-file', 'ls-tree', 'commit-tree', 'mktree', 'config', 'version', 'count-objects', 'remote', 'ls-remote', 'fetch'],
])

export function readsFiles(args: readonly string[]): boolean {
  const command = args[commandAt(args)] ?? ''
  return !withoutFiles.has(command) || args.some((arg) => arg === '--filters' || arg === '--textconv')
}

/** Settings as variables, which unlike `-c` take a name with `=` in it. git 2.31 or later reads them. */
export function asVariables(settings: readonly Setting[]): Record<string, string> {
  if (settings.length === 0) return {}
  const pairs = settings.flatMap(([name, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, name],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ])
  return { GIT_CONFIG_COUNT: String(settings.length), ...(Object.fromEntries(pairs) as Record<string, string>) }
}
