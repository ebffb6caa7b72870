import { optional, strictObject } from 'valibot'
import { fileEncodings } from '../app/files.ts'
import { bytes, choice, flag, size, target, text, whole } from './fields.ts'
import { operation } from './operation.ts'
import { workspaceField } from './workspace-fields.ts'

/** Files of the project, or of a workspace. No path, and no link on its way, leads out of it. */

const where = {
  path: text('The file: a relative path with forward slashes.'),
  workspace: optional(workspaceField()),
  target: optional(target('Where it is: the name of a target in holdfast.json, or host, this machine.')),
}

const values = { workspace: 'WORKSPACE', target: 'NAME' }

const inside = 'A path, or a link on its way, that leads out of the project or workspace is refused.'

export const filesRead = operation({
  name: 'files-read',
  summary: 'Read a file: all of it, or a range of lines or bytes.',
  description: `${inside} Its content comes as it is: secrets are not masked.`,
  input: strictObject({
    ...where,
    lines: optional(text('Lines: 120, 100-150, 100-, -20 (the last 20).')),
    bytes: optional(text('Bytes: 0-1023, 4096-, -512 (the last 512).')),
    encoding: optional(choice('How the content is written in the answer.', fileEncodings, { default: 'text' })),
    maxBytes: optional(size('Refuse more than this; of lines give as many as fit.', 'a positive number of bytes', { default: '16MiB' })),
  }),
  cli: {
    positionals: ['path'],
    flags: { maxBytes: 'max-bytes' },
    values: { lines: 'RANGE', bytes: 'RANGE', ...values },
    examples: ['holdfast files read src/main.ts --lines 1-40', 'holdfast files read notes.md --workspace feature/login --json'],
  },
  check(input) {
    if (input.lines !== undefined && input.bytes !== undefined)
      return { field: 'bytes', value: input.bytes, accepted: 'a range of bytes or of lines, not both' }
    if (input.lines !== undefined && input.encoding === 'base64') return { field: 'encoding', value: input.encoding, accepted: 'text together with lines' }
    if (input.maxBytes !== undefined && input.maxBytes < 1) return { field: 'maxBytes', value: input.maxBytes, accepted: 'a positive number of bytes' }
    return undefined
  },
  run: (app, input, call) => app.readFile(input, call),
})

export const filesWrite = operation({
  name: 'files-write',
  summary: 'Give a file this content, in one step; missing directories are made.',
  description: `However it is cut short, the file has its old content or the new one, where the answer says "staged". ${inside}`,
  input: strictObject({ ...where, content: bytes('The content, all of it; on the command line - stands for standard input.') }),
  cli: {
    positionals: ['path', 'content'],
    values,
    examples: ["holdfast files write notes.md 'first line'", 'git diff | holdfast files write fix.patch - --workspace feature/login'],
  },
  run: (app, input, call) => app.writeFile(input, call),
})

export const filesAppend = operation({
  name: 'files-append',
  summary: 'Add to the end of a file; a missing one is made.',
  description: inside,
  input: strictObject({ ...where, content: bytes('What is added; on the command line - stands for standard input.') }),
  cli: {
    positionals: ['path', 'content'],
    values,
    examples: ['date | holdfast files append log.txt -'],
  },
  run: (app, input, call) => app.appendFile(input, call),
})

export const filesList = operation({
  name: 'files-list',
  summary: 'List what is in a directory.',
  description: '',
  input: strictObject({
    path: optional(text('The directory: a relative path with forward slashes.', { default: 'the top' })),
    workspace: where.workspace,
    target: where.target,
    limit: optional(whole('Most entries, up to 10000.', 1, 'entries', { default: '1000' })),
    after: optional(text('Only names behind this one, to go on with a long list.')),
  }),
  cli: { positionals: ['path'], values: { ...values, after: 'NAME' }, examples: ['holdfast files list src', 'holdfast files list --json'] },
  run: (app, input, call) => app.listFiles(input, call),
})

export const filesStat = operation({
  name: 'files-stat',
  summary: 'Say what a path is: kind, size, permissions, time of its last change.',
  description: '',
  input: strictObject(where),
  cli: { positionals: ['path'], values, examples: ['holdfast files stat package.json'] },
  run: (app, input, call) => app.statFile(input, call),
})

export const filesMkdir = operation({
  name: 'files-mkdir',
  summary: 'Make a directory, with those above it.',
  description: '',
  input: strictObject(where),
  cli: { positionals: ['path'], values, examples: ['holdfast files mkdir docs/images'] },
  run: (app, input, call) => app.makeDirectory(input, call),
})

export const filesRemove = operation({
  name: 'files-remove',
  summary: 'Remove a file, a link or a directory.',
  description: 'Of a link only itself. Nothing is removed of a directory that holds the state of git.',
  input: strictObject({ ...where, recursive: optional(flag('A directory with all that is in it.')) }),
  cli: { positionals: ['path'], values, examples: ['holdfast files remove build --recursive'] },
  run: (app, input, call) => app.removeFile(input, call),
})

export const filesMove = operation({
  name: 'files-move',
  summary: 'Rename a file, a link or a directory, also into another directory.',
  description: 'To a name that nothing has; missing directories are made. State of git is not moved.',
  input: strictObject({
    ...where,
    to: text('The new name: a relative path with forward slashes.'),
    replace: optional(flag('A file may be there already.')),
  }),
  cli: { positionals: ['path', 'to'], values, examples: ['holdfast files move draft.md docs/guide.md'] },
  run: (app, input, call) => app.moveFile(input, call),
})

export const copy = operation({
  name: 'copy',
  summary: 'Copy a file or a directory between this machine and a target, or between two targets.',
  description:
    'Each side is a path, TARGET:PATH with the name of a target in holdfast.json, or :PATH at the target that an option tells. ' +
    'Files are streamed, compared by their hashes and written in one step; ' +
    `links and the state of git are not copied. ${inside}`,
  input: strictObject({
    from: text('What is copied: a path, TARGET:PATH or :PATH.'),
    to: text('Where it goes: a path, TARGET:PATH or :PATH. A file goes into a directory that is there, a directory is merged into one.'),
    workspace: where.workspace,
    target: optional(target('Where :PATH is: the name of a target in holdfast.json.')),
  }),
  cli: {
    positionals: ['from', 'to'],
    values,
    examples: [
      'holdfast copy box:out/report.txt report.txt',
      'holdfast copy fixtures build:fixtures',
      'holdfast copy --backend ssh --host build-box :out/report.txt report.txt',
    ],
  },
  run: (app, input, call) => app.copyFiles(input, call),
})
