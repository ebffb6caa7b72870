import type { Copied } from '../../app/copying.ts'
import type { ReadFileResult } from '../../app/files.ts'
import type { FileEntry, FileList, FileMoved, FileRemoved, FileStat, FileWritten } from '../../core/files.ts'
import { formatCount, oneLine, plural } from '../../core/text.ts'
import { copy, filesAppend, filesList, filesMkdir, filesMove, filesRead, filesRemove, filesStat, filesWrite } from '../../operations/files.ts'
import type { Operation } from '../../operations/operation.ts'
import { type Command, commandFor, type Invocation, shown } from './command.ts'
import { type At, print, printJson } from './print.ts'
import { readInput } from './read-input.ts'
import { performInSteps } from './steps.ts'
import { terminalFilter } from './terminal-filter.ts'
import { table } from './width.ts'

/** Files of the project or of a workspace. */

const group: Command['group'] = 'Work in copies'

/** What is said on a terminal until there is more to say, as long as that takes. */
const opening = 'opening'

/** A target may have to be made before there are files. */
function fileCommand<Output>(op: Operation<Operation['input'], Output>, words: string, present: (result: Output, at: At) => string): Command {
  return commandFor(op, words, group, {
    async run(invocation) {
      print(invocation, await performInSteps(op, invocation, opening), shown<Output>(present))
      return 0
    },
  })
}

export const filesReadCommand = commandFor(filesRead, 'files read', group, {
  async run(invocation) {
    const { parsed, stdout, stderr } = invocation
    if (parsed.json) {
      printJson(stdout, await performInSteps(filesRead, invocation, opening))
      return 0
    }
    // The bytes as they are, unless base64 was asked for.
    const asBytes = parsed.input.lines === undefined && parsed.input.encoding === undefined
    const result: ReadFileResult = await performInSteps(filesRead, invocation, opening, asBytes ? { ...parsed.input, encoding: 'base64' } : parsed.input)
    const content = asBytes ? Buffer.from(result.content, 'base64') : Buffer.from(result.content)
    if (stdout.isTerminal) {
      const filter = terminalFilter()
      stdout.write(filter.pass(content.toString('utf8')) + filter.restore())
    } else stdout.write(content)
    if (result.cut) stderr.write('holdfast: the line is longer; raise --max-bytes for more\n')
    return 0
  },
})

export const filesWriteCommand = commandFor(filesWrite, 'files write', group, {
  run: (invocation) => takeContent(filesWrite, invocation),
})

export const filesAppendCommand = commandFor(filesAppend, 'files append', group, {
  run: (invocation) => takeContent(filesAppend, invocation),
})

async function takeContent(op: Operation<Operation['input'], FileWritten>, invocation: Invocation): Promise<number> {
  const { io, parsed } = invocation
  const fromInput = parsed.input.content === '-' ? { content: await readInput(io, 'CONTENT', '-') } : {}
  print(invocation, await performInSteps(op, invocation, opening, { ...parsed.input, ...fromInput }), shown<FileWritten>(presentWritten))
  return 0
}

const presentWritten = ({ path, bytes, created, route }: FileWritten): string =>
  `${created ? 'Made' : 'Wrote'} ${oneLine(path)} (${plural(bytes, 'byte')}, ${route})`

export const filesListCommand = fileCommand(filesList, 'files list', ({ entries, more }: FileList, { columns }) => {
  const rows = entries.map((entry) => [entry.kind, entry.kind === 'file' ? formatCount(entry.bytes) : '', nameOf(entry)])
  const rest = more ? `\nThere is more: --after ${JSON.stringify(entries.at(-1)?.name ?? '')}` : ''
  return entries.length === 0 ? 'Nothing is in it.' : `${table([['KIND', 'BYTES', 'NAME'], ...rows], columns)}${rest}`
})

const nameOf = ({ name, target }: FileEntry): string => oneLine(target === null ? name : `${name} -> ${target}`)

export const filesStatCommand = fileCommand(
  filesStat,
  'files stat',
  ({ path, kind, bytes, mode, modifiedAt }: FileStat) => `${oneLine(path)}: ${kind}, ${plural(bytes, 'byte')}, mode ${mode}, changed ${modifiedAt}`,
)

export const filesMkdirCommand = fileCommand(
  filesMkdir,
  'files mkdir',
  ({ path, created }: { path: string; created: boolean }) => `${created ? 'Made' : 'There was already'} ${oneLine(path)}`,
)

export const filesRemoveCommand = fileCommand(
  filesRemove,
  'files remove',
  ({ path, kind, entries }: FileRemoved) =>
    `Removed ${oneLine(path)} (${kind === 'directory' ? `directory, ${formatCount(entries)} ${entries === 1 ? 'entry' : 'entries'}` : kind})`,
)

export const filesMoveCommand = fileCommand(
  filesMove,
  'files move',
  ({ from, path, replaced }: FileMoved) => `Moved ${oneLine(from)} to ${oneLine(path)}${replaced ? ', in the place of another file' : ''}`,
)

export const copyCommand = fileCommand(copy, 'copy', ({ from, path, files, bytes, skipped }: Copied) => {
  const left = skipped.length === 0 ? '' : `; not copied: ${skipped.map(oneLine).join(', ')}`
  return `Copied ${oneLine(from)} to ${oneLine(path)} (${plural(files, 'file')}, ${plural(bytes, 'byte')})${left}`
})
