import type { Command } from './command.ts'

/** Every command by its words, in the order of help. Each is loaded when it is asked for: the schemas of all take longer than most commands. */
const loaders: Readonly<Record<string, () => Promise<Command>>> = {
  exec: async () => (await import('./exec-command.ts')).execCommand,
  wait: async () => (await import('./one-run-commands.ts')).waitCommand,
  stop: async () => (await import('./one-run-commands.ts')).stopCommand,
  input: async () => (await import('./input-command.ts')).inputCommand,
  mcp: async () => (await import('./mcp-command.ts')).mcpCommand,
  acp: async () => (await import('./acp-command.ts')).acpCommand,
  runs: async () => (await import('./runs-command.ts')).runsCommand,
  show: async () => (await import('./one-run-commands.ts')).showCommand,
  output: async () => (await import('./output-command.ts')).outputCommand,
  search: async () => (await import('./search-command.ts')).searchCommand,
  digest: async () => (await import('./digest-command.ts')).digestCommand,
  'workspace open': async () => (await import('./workspace-commands.ts')).workspaceOpenCommand,
  'workspace list': async () => (await import('./workspace-commands.ts')).workspaceListCommand,
  'workspace status': async () => (await import('./workspace-commands.ts')).workspaceStatusCommand,
  'workspace show': async () => (await import('./workspace-commands.ts')).workspaceShowCommand,
  'workspace diff': async () => (await import('./workspace-commands.ts')).workspaceDiffCommand,
  'workspace setup': async () => (await import('./workspace-commands.ts')).workspaceSetupCommand,
  'workspace release': async () => (await import('./workspace-commands.ts')).workspaceReleaseCommand,
  'workspace rescues': async () => (await import('./rescue-commands.ts')).workspaceRescuesCommand,
  'workspace restore': async () => (await import('./rescue-commands.ts')).workspaceRestoreCommand,
  'workspace export': async () => (await import('./rescue-commands.ts')).workspaceExportCommand,
  'workspace drop': async () => (await import('./rescue-commands.ts')).workspaceDropCommand,
  'workspace gc': async () => (await import('./workspace-commands.ts')).workspaceGcCommand,
  'workspace delete-branch': async () => (await import('./workspace-commands.ts')).workspaceDeleteBranchCommand,
  snapshot: async () => (await import('./context-commands.ts')).snapshotCommand,
  resume: async () => (await import('./context-commands.ts')).resumeCommand,
  hook: async () => (await import('./hook-command.ts')).hookCommand,
  'note add': async () => (await import('./note-commands.ts')).noteAddCommand,
  'note list': async () => (await import('./note-commands.ts')).noteListCommand,
  'note search': async () => (await import('./note-commands.ts')).noteSearchCommand,
  'note update': async () => (await import('./note-commands.ts')).noteUpdateCommand,
  'note remove': async () => (await import('./note-commands.ts')).noteRemoveCommand,
  'note export': async () => (await import('./note-commands.ts')).noteExportCommand,
  'note import': async () => (await import('./note-commands.ts')).noteImportCommand,
  pin: async () => (await import('./one-run-commands.ts')).pinCommand,
  unpin: async () => (await import('./one-run-commands.ts')).unpinCommand,
  'files read': async () => (await import('./files-commands.ts')).filesReadCommand,
  'files write': async () => (await import('./files-commands.ts')).filesWriteCommand,
  'files append': async () => (await import('./files-commands.ts')).filesAppendCommand,
  'files list': async () => (await import('./files-commands.ts')).filesListCommand,
  'files stat': async () => (await import('./files-commands.ts')).filesStatCommand,
  'files mkdir': async () => (await import('./files-commands.ts')).filesMkdirCommand,
  'files remove': async () => (await import('./files-commands.ts')).filesRemoveCommand,
  'files move': async () => (await import('./files-commands.ts')).filesMoveCommand,
  copy: async () => (await import('./files-commands.ts')).copyCommand,
  classify: async () => (await import('./classify-command.ts')).classifyCommand,
  install: async () => (await import('./install-commands.ts')).installCommand,
  uninstall: async () => (await import('./install-commands.ts')).uninstallCommand,
  stats: async () => (await import('./house-commands.ts')).statsCommand,
  gc: async () => (await import('./house-commands.ts')).gcCommand,
  doctor: async () => (await import('./house-commands.ts')).doctorCommand,
  backends: async () => (await import('./house-commands.ts')).backendsCommand,
  config: async () => (await import('./house-commands.ts')).configCommand,
}

/** What is typed for each command: `runs`, `note add`. */
export const commandWords: readonly string[] = Object.keys(loaders)

/** The commands with these words; those that there are not are left out. */
export function loadCommands(words: readonly string[] = commandWords): Promise<Command[]> {
  return Promise.all(words.flatMap((typed) => (Object.hasOwn(loaders, typed) ? [(loaders[typed] as () => Promise<Command>)()] : [])))
}
