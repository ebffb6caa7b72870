import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Path } from '../hosts/config/editing.ts'
import { applyEdits, type Edit, reverseEdits } from '../hosts/config/reverse-edits.ts'
import { hashOf, removeFolders } from './installation-files.ts'

/**
 * What was done to one file, so that it can be undone to the byte. It holds nothing of the file but what was put in or taken out: other
 * entries may have secrets. Without it, or where the file was changed since, what is ours is found by what it starts.
 */
export interface InstallationRecord {
  readonly version: 1
  readonly place: string
  /** Of the text as it was left, and as it was before anything of ours was in it. */
  readonly after: string
  readonly before: string
  /** What leads from the one to the other; null where others changed the file between two installations. */
  readonly edits: readonly Edit[] | null
  /** There was no file before. */
  readonly created: boolean
  /** Folders, and objects and lists in the file, that were made for us. */
  readonly folders: readonly string[]
  readonly containers: readonly Path[]
}

export interface InstallationRecords {
  find(place: string): InstallationRecord | undefined
  write(record: InstallationRecord): void
  remove(place: string): void
}

/** Records lie in the person's folder for state, one a file. */
export function openInstallationRecords(state: string): InstallationRecords {
  const folder = join(state, 'holdfast', 'installed')
  const pathOf = (place: string): string => join(folder, `${hashOf(place).slice(0, 16)}.json`)
  function find(place: string): InstallationRecord | undefined {
    const found = readRecord(pathOf(place))
    return found?.place === place ? found : undefined
  }
  return {
    find,
    write(record) {
      // Folders that this makes go with the last record.
      const folders: string[] = []
      for (let at = folder; !existsSync(at); at = dirname(at)) folders.unshift(at)
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      writeRecord(pathOf(record.place), { ...record, folders: [...new Set([...record.folders, ...folders])] })
    },
    remove(place) {
      const folders = (find(place)?.folders ?? []).filter((made) => folder.startsWith(made))
      rmSync(pathOf(place), { force: true })
      removeFolders([folder])
      // Whoever is the last takes the folders of the records along.
      const [heir] = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.json')) : []
      if (heir !== undefined && folders.length > 0) inherit(join(folder, heir), folders)
    },
  }
}

function readRecord(path: string): InstallationRecord | undefined {
  try {
    const found = JSON.parse(readFileSync(path, 'utf8')) as InstallationRecord
    return found.version === 1 ? found : undefined
  } catch {
    return undefined
  }
}

function writeRecord(path: string, record: InstallationRecord): void {
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, `${JSON.stringify(record)}\n`, { mode: 0o600 })
  renameSync(draft, path)
}

function inherit(path: string, folders: readonly string[]): void {
  const record = readRecord(path)
  if (record) writeRecord(path, { ...record, folders: [...new Set([...record.folders, ...folders])] })
}

interface Change {
  readonly place: string
  readonly before: string | undefined
  readonly after: string
  readonly folders: readonly string[]
  readonly containers: readonly Path[]
}

/** The record of a change, which also undoes an earlier one that it came on top of. */
export function recordOf({ place, before, after, folders, containers }: Change, earlier: InstallationRecord | undefined): InstallationRecord {
  const original = earlier && before !== undefined ? originalOf(before, earlier) : undefined
  const start = earlier ? original : { text: before ?? '' }
  return {
    version: 1,
    place,
    after: hashOf(after),
    before: start ? hashOf(start.text) : '',
    edits: start ? reverseEdits(after, start.text) : null,
    created: earlier?.created ?? before === undefined,
    folders: [...(earlier?.folders ?? []), ...folders],
    containers: [...(earlier?.containers ?? []), ...containers],
  }
}

/** The text as it was before us, where nobody else changed it since. */
export function originalOf(text: string, record: InstallationRecord): { readonly text: string } | undefined {
  if (!record.edits || hashOf(text) !== record.after) return undefined
  const original = applyEdits(text, record.edits)
  return hashOf(original) === record.before ? { text: original } : undefined
}
