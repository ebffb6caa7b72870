import type { Activity, ToolAction } from '../../core/activity.ts'
import { todosOf } from './todos.ts'
import { failureOf, type Mask, testCounts } from './tool-output.ts'
import { type Fields, fieldsOf, isTrue, listIn, parsedText, textIn, textOf } from './values.ts'

/** A call of a tool as a host tells of it, whichever it is: hosts name the same things differently, and few things each. */
export interface ToldTool {
  readonly name: string
  readonly input: unknown
  readonly output: unknown
  /** Whether the host itself says that it failed; undefined where it does not say. */
  readonly failed?: boolean | undefined
}

/** What a call of a tool comes to; nothing for tools of our own, whose runs are known better. */
export function toolActivities(told: ToldTool, mask: Mask): Activity[] {
  const name = told.name.trim()
  if (name === '' || isOwn(name)) return []
  const input = parsedText(told.input)
  const output = parsedText(told.output)
  const todos = todosOf(name, input, output)
  if (todos.length > 0) return todos
  const ended = endedBackground(name, fieldsOf(input), output)
  if (ended !== null) return [{ kind: 'background-ended', id: ended }]
  const action = actionOf(name)
  const fields = fieldsOf(input)
  const command = action === 'shell' ? commandOf(input) : null
  // A patch may come through a shell.
  const patched = action === 'shell' ? (command?.includes('*** Begin Patch') ? pathsOfPatch(command) : []) : []
  const text = textOf(output)
  const { failed, message } = failureOf(output, text, told.failed, action === 'shell', mask)
  return [
    {
      kind: 'tool',
      tool: {
        name,
        action: patched.length > 0 ? 'edit' : action,
        command: patched.length > 0 ? null : command,
        paths: patched.length > 0 ? patched : action === 'edit' || action === 'read' ? pathsOf(input) : [],
        failed,
        get message() {
          return message()
        },
        result: action === 'shell' ? testCounts(text) : null,
        background: action === 'shell' && !failed ? backgroundOf(fields, text, command) : null,
      },
    },
  ]
}

const isOwn = (name: string): boolean => /(?:^|[^a-z])holdfast(?:[^a-z]|$)/i.test(name)

/** `mcp__files__write_file` is called what comes last. */
const plainName = (name: string): string => (name.split(/__|[.:/]/).at(-1) ?? name).toLowerCase().replace(/[^a-z]/g, '')

const shells = new Set(
  'bash shell sh powershell localshell shellcommand localshellcall execcommand runshellcommand runinterminal runterminalcommand runterminalcmd runcommand terminal executecommand unifiedexec containerexec'.split(
    ' ',
  ),
)
const edits = new Set(
  `edit multiedit write writefile notebookedit editnotebook replace applypatch patch createfile create editfile editfiles strreplace strreplaceeditor strreplacebasededittool
   searchreplace inserteditintofile replacestringinfile multireplacestringinfile insertedit delete deletefile editnotebookfile`.split(/\s+/),
)
const reads = new Set('read readfile readmanyfiles view viewimage notebookread cat'.split(' '))

function actionOf(name: string): ToolAction {
  const plain = plainName(name)
  return shells.has(plain) ? 'shell' : edits.has(plain) ? 'edit' : reads.has(plain) ? 'read' : 'other'
}

/** Whether it is a shell of the host, and not one of ours. */
export const isShell = (name: string): boolean => !isOwn(name) && actionOf(name) === 'shell'

/** Of `["bash", "-lc", "npm test"]` what the shell is asked to do. */
function commandOf(input: unknown): string | null {
  if (typeof input === 'string') return input
  const fields = fieldsOf(input)
  const words = listIn(fields, 'command', 'cmd', 'argv').filter((word) => typeof word === 'string')
  if (words.length > 0) return /^-[a-z]{0,3}c$/.test(words[1] ?? '') && words[2] !== undefined ? words[2] : words.join(' ')
  return textIn(fields, 'command', 'cmd', 'script', 'code')
}

const pathNames = [
  'file_path',
  'filePath',
  'absolute_path',
  'absolutePath',
  'target_file',
  'targetFile',
  'notebook_path',
  'relative_workspace_path',
  'path',
  'filename',
  'file',
]

function pathsOf(input: unknown): string[] {
  const fields = fieldsOf(input)
  const patch = typeof input === 'string' ? input : textIn(fields, 'input', 'patch', 'patchText', 'patch_text', 'command', 'diff')
  if (patch?.includes('*** ')) return pathsOfPatch(patch)
  const one = textIn(fields, ...pathNames)
  const many = listIn(fields, 'files', 'paths', 'file_paths', 'filePaths', 'replacements', 'edits').flatMap((item) =>
    typeof item === 'string' ? [item] : (textIn(fieldsOf(item), ...pathNames) ?? []),
  )
  return [...new Set([...(one === null ? [] : [one]), ...many])].slice(0, maxPaths)
}

const maxPaths = 50
const patchHead = /^\*\*\* (?:Add|Update|Delete|Move to)(?: File)?: (.{1,1000})$/

function pathsOfPatch(patch: string): string[] {
  return patch
    .split(/\r?\n/)
    .flatMap((line) => patchHead.exec(line)?.[1]?.trim() ?? [])
    .slice(0, maxPaths)
}

/** What names it: the id that the host gave, or else its command. */
function backgroundOf(input: Fields, text: string, command: string | null): string | null {
  const told = /(?:session|background|terminal|shell|task|process)(?: (?:with|running))?(?: \w{1,10})? (?:id|ID|Id)(?:=|: ?| )([\w-]{1,64})/.exec(
    text.slice(0, 2_000),
  )?.[1]
  const isBackground = isTrue(input, 'run_in_background', 'is_background', 'isBackground', 'background')
  if (isBackground) return told ?? command
  // Codex gives its long commands a number and goes on.
  return /Process running with session ID (\d{1,12})/.exec(text.slice(0, 4_000))?.[1] ?? null
}

/** The background shell that a call has ended, or has found at its end. */
function endedBackground(name: string, input: Fields, output: unknown): string | null {
  const plain = plainName(name)
  const id = textIn(input, 'shell_id', 'bash_id', 'task_id', 'taskId', 'shellId', 'id')
  if (/^(?:kill|stop)(?:shell|bash|task|process|terminal)/.test(plain)) return id
  if (!/^(?:bash|task|shell|terminal)output$|^getterminaloutput$/.test(plain)) return null
  return /(?:<status>|"?status"?: ?"?)(?:completed|failed|killed|exited)/.test(textOf(output).slice(0, 2_000)) ? id : null
}
