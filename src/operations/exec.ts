import { optional, strictObject } from 'valibot'
import { digestSize, digestSizeValues } from './digest-size.ts'
import { choice, content, duration, flag, list, map, size, target, terminal, text, waiting } from './fields.ts'
import { operation } from './operation.ts'

export const exec = operation({
  name: 'exec',
  summary: 'Run a command, keep everything it prints, and answer with how it ended and the lines that matter.',
  description:
    'The command gets an environment built from empty (PATH, HOME, LANG and the like, plus what is named), ' +
    'no terminal, and an empty stdin, unless they are asked for. However it ends, its output is kept and can be read and searched later.',
  input: strictObject({
    argv: optional(list('The program and its arguments.', 'a list of texts without NUL, the program first')),
    script: optional(text('A script to run instead of a program.')),
    runtime: optional(text('What runs the script: bash, node, python, or a name under "runtimes" in the configuration.', { default: 'bash' })),
    cwd: optional(text('Working directory, inside the workspace.', { default: 'the project root' })),
    workspace: optional(text('Run it in this workspace: its id, branch or folder, or operator:NAME.')),
    target: optional(target('Run it there: the name of a target in holdfast.json, or host, this machine.')),
    timeoutMs: optional(duration('End the command after this time.', { default: '10m, through MCP 2m' })),
    idleTimeoutMs: optional(duration('End the command after this time without output.', { default: 'off' })),
    graceMs: optional(duration('Time between the polite signal and the one that cannot be refused.', { default: '2s' })),
    maxOutputBytes: optional(
      size('What is kept on disk of each stream; past it head and tail stay.', 'a whole number of bytes from 1024', { default: '64MiB' }),
    ),
    purpose: optional(text('Why the command is run; found again by runs and search.')),
    env: optional(map('Variables for the command.', 'variables with text as their values')),
    passEnv: optional(list("Names of variables to pass on from Holdfast's own environment.", 'a list of names of variables')),
    stdin: optional(content('What the command reads.')),
    leftovers: optional(choice('What becomes of processes that outlive a normal end.', ['report', 'kill'], { default: 'report' })),
    waitMs: optional(waiting('Answer after this time even if the command still runs; it runs on.')),
    detach: optional(flag('Let the command run on in the background and answer at once.')),
    pty: optional(terminal('Run it on a pseudo-terminal: programs behave as for a person; all they print is stdout, shown as it stands on the screen.')),
    interactive: optional(flag('Keep its standard input open, for input.')),
    ephemeral: optional(flag('End it with this process, also where it would live on.')),
    ...digestSize,
  }),
  cli: {
    hidden: ['argv', 'script', 'env', 'passEnv', 'stdin', 'waitMs', 'detach', 'pty', 'interactive', 'ephemeral'],
    defaults: { cwd: 'the current folder', timeoutMs: '10m' },
    values: { purpose: 'TEXT', runtime: 'NAME', cwd: 'DIR', workspace: 'NAME', target: 'NAME', ...digestSizeValues },
    examples: [
      'holdfast exec -- npm test',
      "holdfast exec --timeout 30s -c 'make && ./run | tail -3'",
      'holdfast exec --detach --timeout 8h -- npm start',
      'holdfast exec --pty --interactive -- python3',
      'holdfast exec --workspace feature/login -- npm test',
      'holdfast exec --backend docker --image node:22 -- npm test',
    ],
  },
  check(input) {
    if (input.argv !== undefined && input.script !== undefined) {
      return { field: 'script', value: input.script, accepted: 'a script or a program with arguments, not both' }
    }
    if (input.script !== undefined) return undefined
    if (input.argv === undefined || input.argv.length === 0 || input.argv[0] === '') {
      return { field: 'argv', value: input.argv, accepted: 'a program with its arguments, or a script' }
    }
    if (input.runtime !== undefined) return { field: 'runtime', value: input.runtime, accepted: 'a runtime together with a script' }
    return undefined
  },
  run: (app, input, call) => app.exec(input, call),
})
