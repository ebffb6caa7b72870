import { HoldfastError, withFacts } from '../core/errors.ts'
import type { RunRecord } from '../core/run.ts'
import type { RunFilter } from '../core/store.ts'
import { thisMachine } from '../core/target.ts'
import type { App } from './api.ts'
import { checkLimit } from './check-limit.ts'
import type { AppBasis, AppEquipment } from './context.ts'
import { isFar } from './far.ts'
import type { FileUseCases } from './files.ts'
import type { InstallationUseCases } from './installation.ts'
import type { NoteUseCases } from './notes.ts'
import { readRecord } from './run-folder.ts'
import type { EnsureMounted } from './run-tree.ts'
import { openShownCounter } from './shown.ts'
import { toSummary } from './summary.ts'
import type { UseCases } from './use-cases.ts'
import type { WorkspaceUseCases } from './workspaces.ts'

const defaultRuns = 20
const maxListed = 200

/**
 * Makes the app: the only place that knows policy. Nothing is opened or written before an operation needs it, nor loaded:
 * listing what there is, which is done most often, needs nothing of what runs, masks and digests.
 */
export function createApp(basis: AppBasis, equip: () => Promise<AppEquipment>): App {
  const { records } = basis
  let equipment: Promise<AppEquipment> | undefined
  let loading: Promise<UseCases> | undefined
  let loaded: UseCases | undefined
  let closed = false

  function equipped(): Promise<AppEquipment> {
    equipment ??= equip()
    return equipment
  }

  async function load(): Promise<UseCases> {
    const [{ createUseCases }, more] = await Promise.all([import('./use-cases.ts'), equipped()])
    loaded = createUseCases({ ...basis, ...more }, history)
    if (closed) await loaded.close()
    return loaded
  }

  function useCases(): Promise<UseCases> {
    loading ??= load()
    return loading
  }

  const workspaces = async (): Promise<WorkspaceUseCases> => (await useCases()).workspaces()

  let filing: Promise<FileUseCases> | undefined
  function files(): Promise<FileUseCases> {
    filing ??= openFileUseCases(basis, equipped, useCases)
    return filing
  }

  let noting: Promise<NoteUseCases> | undefined
  function notes(): Promise<NoteUseCases> {
    noting ??= Promise.all([import('./notes.ts'), equipped()]).then(([{ createNoteUseCases }, more]) => createNoteUseCases({ ...basis, ...more }))
    return noting
  }

  let installing: Promise<InstallationUseCases> | undefined
  function installations(): Promise<InstallationUseCases> {
    installing ??= Promise.all([import('./installation.ts'), equipped()]).then(([{ createInstallations }, more]) => createInstallations({ ...basis, ...more }))
    return installing
  }

  /** Runs that ended unseen, or whose holder died, are told as such before anybody looks at the history. */
  async function history(): Promise<void> {
    try {
      const going = await records.list({ running: true, limit: 1000 })
      const [far, here] = [going.filter(isFar), going.filter((record) => !isFar(record))]
      const settling = far.map(async (record) => (await useCases()).settle(record))
      for (const record of here) await (await useCases()).settle(record)
      await Promise.all(settling)
    } catch {
      // Then they are told as they are known.
    }
  }

  /** A supervisor may have recorded an end that was given up. */
  async function putRight(record: RunRecord): Promise<RunRecord> {
    const latest = record.state === 'interrupted' ? readRecord(records.folder(record.id), record.id) : undefined
    if (latest?.state !== 'ended') return record
    await records.finish(latest)
    return latest
  }

  const shown = openShownCounter(
    (entries) => records.addShown(entries),
    () => basis.now().getTime(),
  )

  const app: App = {
    exec: async (...given) => (await useCases()).exec(...given),
    wait: async (...given) => (await useCases()).wait(...given),
    stop: async (...given) => (await useCases()).stop(...given),
    input: async (...given) => (await useCases()).input(...given),
    async runs(input) {
      await history()
      const filter: RunFilter = { query: input.query, failing: input.failing, runtime: input.runtime, limit: checkLimit(input.limit, defaultRuns, maxListed) }
      const [found, { runs: total }] = await Promise.all([records.list(filter), records.count()])
      const current = await Promise.all(found.map(async (record) => (await loaded?.held(record.id)) ?? putRight(record)))
      return { runs: current.map(toSummary), total, warnings: await records.warnings() }
    },
    async stats({ sinceMs = 0, limit }) {
      const most = checkLimit(limit, defaultRuns, maxListed)
      await history()
      const { commands, ...stats } = await records.stats(sinceMs)
      return { ...stats, commands: commands.slice(0, most), more: Math.max(0, commands.length - most), warnings: await records.warnings() }
    },
    countShown: async (answered) => shown.count(answered),
    show: async (...given) => (await useCases()).show(...given),
    output: async (...given) => (await useCases()).output(...given),
    follow: async (...given) => (await useCases()).follow(...given),
    search: async (...given) => (await useCases()).search(...given),
    digest: async (...given) => (await useCases()).digest(...given),
    snapshot: async (...given) => (await useCases()).snapshot(...given),
    resume: async (...given) => (await useCases()).resume(...given),
    addNote: async (...given) => (await notes()).addNote(...given),
    listNotes: async (...given) => (await notes()).listNotes(...given),
    searchNotes: async (...given) => (await notes()).searchNotes(...given),
    updateNote: async (...given) => (await notes()).updateNote(...given),
    removeNote: async (...given) => (await notes()).removeNote(...given),
    exportNotes: async (...given) => (await notes()).exportNotes(...given),
    importNotes: async (...given) => (await notes()).importNotes(...given),
    pin: async (...given) => (await useCases()).pin(...given),
    gc: async (...given) => (await useCases()).gc(...given),
    install: async (...given) => (await installations()).install(...given),
    uninstall: async (...given) => (await installations()).uninstall(...given),
    doctor: async (input) => (input?.host === undefined ? (await useCases()).doctor(input) : (await installations()).examineHost(input.host)),
    config: async () => basis.explainConfig(),
    backends: async () => (await import('./backends.ts')).describeBackends(basis),
    openWorkspace: async (...given) => (await workspaces()).openWorkspace(...given),
    releaseWorkspace: async (...given) => (await workspaces()).releaseWorkspace(...given),
    listWorkspaces: async (...given) => (await workspaces()).listWorkspaces(...given),
    showWorkspace: async (...given) => (await workspaces()).showWorkspace(...given),
    workspaceStatus: async (...given) => (await workspaces()).workspaceStatus(...given),
    diffWorkspace: async (...given) => (await workspaces()).diffWorkspace(...given),
    setupWorkspace: async (...given) => (await workspaces()).setupWorkspace(...given),
    listRescues: async (...given) => (await workspaces()).listRescues(...given),
    showRescue: async (...given) => (await workspaces()).showRescue(...given),
    restoreRescue: async (...given) => (await workspaces()).restoreRescue(...given),
    exportRescue: async (...given) => (await workspaces()).exportRescue(...given),
    dropRescues: async (...given) => (await workspaces()).dropRescues(...given),
    collectWorkspaces: async (...given) => (await workspaces()).collectWorkspaces(...given),
    deleteBranch: async (...given) => (await workspaces()).deleteBranch(...given),
    readFile: async (...given) => (await files()).readFile(...given),
    writeFile: async (...given) => (await files()).writeFile(...given),
    appendFile: async (...given) => (await files()).appendFile(...given),
    listFiles: async (...given) => (await files()).listFiles(...given),
    statFile: async (...given) => (await files()).statFile(...given),
    makeDirectory: async (...given) => (await files()).makeDirectory(...given),
    removeFile: async (...given) => (await files()).removeFile(...given),
    moveFile: async (...given) => (await files()).moveFile(...given),
    copyFiles: async (...given) => (await files()).copyFiles(...given),
    async close() {
      closed = true
      // A call that came before waits for the same, and has its turn first.
      await (await loading)?.close()
      await shown.close()
      await records.close()
    },
  }
  return withMaskedErrors(app, equipped)
}

async function openFileUseCases(basis: AppBasis, equipped: () => Promise<AppEquipment>, useCases: () => Promise<UseCases>): Promise<FileUseCases> {
  const ensureMounted: EnsureMounted = async (workspace) => (await (await useCases()).workspaces()).ensureMounted(workspace)
  const [{ createFileUseCases }, { createHostFiles }, { requireNamed }, more] = await Promise.all([
    import('./files.ts'),
    import('../files/host-files.ts'),
    import('./run-tree.ts'),
    equipped(),
  ])
  return createFileUseCases({
    root: basis.root,
    base: basis.base,
    async treeOf(workspace) {
      const { record } = await requireNamed({ ...basis, ...more }, workspace, ensureMounted)
      return { root: record.path, nonce: record.nonce }
    },
    openFiles: (root) => createHostFiles({ root, machine: more.machine }),
    async filesAt(target, tree, call) {
      // Who names none, and has none for all, needs nothing of what runs commands.
      if ((target ?? basis.settings.defaultTarget ?? thisMachine) === thisMachine) return undefined
      return (await useCases()).filesAt(target, tree, call)
    },
  })
}

/** What a caller hands in may hold a secret, and an error names it: it is masked like everything else that is told. */
function withMaskedErrors(app: App, equipped: () => Promise<Pick<AppEquipment, 'masking'>>): App {
  const guard =
    (act: (...args: unknown[]) => Promise<unknown>) =>
    async (...args: unknown[]) => {
      try {
        return await act(...args)
      } catch (error) {
        throw error instanceof HoldfastError ? withFacts(error, (await equipped()).masking.general.mask) : error
      }
    }
  return Object.fromEntries(Object.entries(app).map(([name, act]) => [name, guard(act)])) as unknown as App
}
