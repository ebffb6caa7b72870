import { backends } from './backends.ts'
import { config } from './config.ts'
import { digest } from './digest.ts'
import { doctor } from './doctor.ts'
import { exec } from './exec.ts'
import { copy, filesAppend, filesList, filesMkdir, filesMove, filesRead, filesRemove, filesStat, filesWrite } from './files.ts'
import { gc } from './gc.ts'
import { input } from './input.ts'
import { install } from './install.ts'
import { noteAdd, noteExport, noteImport, noteList, noteRemove, noteSearch, noteUpdate } from './notes.ts'
import type { Operation } from './operation.ts'
import { output } from './output.ts'
import { pin, unpin } from './pin.ts'
import { resume } from './resume.ts'
import { runs } from './runs.ts'
import { search } from './search.ts'
import { show } from './show.ts'
import { snapshot } from './snapshot.ts'
import { stats } from './stats.ts'
import { stop } from './stop.ts'
import { uninstall } from './uninstall.ts'
import { wait } from './wait.ts'
import { workspaceDiff, workspaceList, workspaceShow, workspaceStatus } from './workspace-look.ts'
import { workspaceOpen } from './workspace-open.ts'
import { workspaceDeleteBranch, workspaceGc, workspaceRelease, workspaceSetup } from './workspace-release.ts'
import { workspaceDrop, workspaceExport, workspaceRescues, workspaceRestore, workspaceShowRescue } from './workspace-rescues.ts'

/** Every operation that is typed as a command, in the order of help. */
export const operations: readonly Operation[] = [
  exec,
  wait,
  stop,
  input,
  runs,
  show,
  output,
  search,
  digest,
  snapshot,
  resume,
  noteAdd,
  noteList,
  noteSearch,
  noteUpdate,
  noteRemove,
  noteExport,
  noteImport,
  pin,
  unpin,
  workspaceOpen,
  workspaceList,
  workspaceStatus,
  workspaceShow,
  workspaceDiff,
  workspaceSetup,
  workspaceRelease,
  workspaceRescues,
  workspaceRestore,
  workspaceExport,
  workspaceDrop,
  workspaceGc,
  workspaceDeleteBranch,
  filesRead,
  filesWrite,
  filesAppend,
  filesList,
  filesStat,
  filesMkdir,
  filesRemove,
  filesMove,
  copy,
  install,
  uninstall,
  stats,
  gc,
  doctor,
  backends,
  config,
]

export {
  backends,
  config,
  copy,
  digest,
  doctor,
  exec,
  filesAppend,
  filesList,
  filesMkdir,
  filesMove,
  filesRead,
  filesRemove,
  filesStat,
  filesWrite,
  gc,
  input,
  install,
  noteAdd,
  noteExport,
  noteImport,
  noteList,
  noteRemove,
  noteSearch,
  noteUpdate,
  output,
  pin,
  resume,
  runs,
  search,
  show,
  snapshot,
  stats,
  stop,
  uninstall,
  unpin,
  wait,
  workspaceDeleteBranch,
  workspaceDiff,
  workspaceDrop,
  workspaceExport,
  workspaceGc,
  workspaceList,
  workspaceOpen,
  workspaceRelease,
  workspaceRescues,
  workspaceRestore,
  workspaceSetup,
  workspaceShow,
  workspaceShowRescue,
  workspaceStatus,
}
