import {
  array,
  boolean,
  check,
  type GenericSchema,
  type InferOutput,
  integer,
  literal,
  maxLength,
  maxValue,
  metadata,
  minLength,
  minValue,
  nullable,
  number,
  type ObjectEntries,
  optional,
  picklist,
  pipe,
  rawTransform,
  record,
  regex,
  strictObject,
  string,
  union,
} from 'valibot'
import { messageOf } from '../core/errors.ts'
import { minOutputBytes, parseDuration, parseSize } from '../core/limits.ts'
import { featureModes } from '../core/workspace.ts'
import { remotePolicies } from '../core/workspace-provider.ts'
import { durationForm, longestMs, parsed, sizeForm } from './forms.ts'
import { defaultSettings, supervisorUses } from './settings.ts'
import { targetName, targetNameAccepted, targetSchema } from './targets.ts'
import { writtenDuration, writtenSize } from './written.ts'

/*
 * The one description of holdfast.json: files are checked by it, and the JSON Schema for editors is made of it. In every
 * schema here the message is what is accepted, since the report puts it behind "accepted:".
 */

interface Facts {
  readonly description?: string
  readonly default?: unknown
  readonly examples?: readonly unknown[]
}

const about = <T>(facts: Facts) => metadata<T, Record<string, unknown>>({ ...facts })

function durationText(accepted: string, facts?: Facts) {
  return pipe(string(accepted), regex(durationForm, accepted), about({ ...facts }), parsed(parseDuration, 1, longestMs, accepted))
}

function durationOrNumber(accepted: string) {
  const plain = pipe(number(accepted), minValue(1, accepted), maxValue(longestMs, accepted))
  return union([plain, durationText(accepted)], accepted)
}

const durationAccepted = 'a duration like "30s", "5m" or "2h", or a number of milliseconds from 1'

function duration(facts: Facts) {
  return optional(pipe(durationOrNumber(durationAccepted), about(facts)))
}

function size(facts: Facts, least: number, most: number = Number.MAX_SAFE_INTEGER) {
  const range = most === Number.MAX_SAFE_INTEGER ? `from ${least}` : `from ${least} to ${most}`
  const accepted = `a size like "64MiB" or "10GB", or a whole number of bytes, ${range}`
  const plain = pipe(number(accepted), integer(accepted), minValue(least, accepted), maxValue(most, accepted))
  const written = pipe(string(accepted), regex(sizeForm, accepted), parsed(parseSize, least, most, accepted))
  return optional(pipe(union([plain, written], accepted), about(facts)))
}

function group<const E extends ObjectEntries>(description: string, entries: E) {
  return optional(pipe(strictObject(entries), about({ description })))
}

function list<S extends GenericSchema>(item: S, accepted: string, facts: Facts) {
  return optional(pipe(array(item, accepted), about({ default: [], ...facts })))
}

const nameAccepted = 'a name of letters, digits and _, not beginning with a digit'
const variableName = pipe(string(nameAccepted), regex(/^(?!__proto__$)[A-Za-z_][A-Za-z0-9_]*$/, nameAccepted))
const withoutNul = <T extends string>(accepted: string) => check<T, string>((text) => !text.includes('\0'), accepted)
const value = pipe(string('text without NUL'), withoutNul('text without NUL'))

const globAccepted = 'a name in which * stands for any characters, like "INTERNAL_*"'
const glob = pipe(string(globAccepted), regex(/^[^\s=]{1,256}$/, globAccepted))

const patternAccepted = 'a regular expression of JavaScript, without slashes and flags'
const pattern = pipe(
  string(patternAccepted),
  minLength(1, patternAccepted),
  maxLength(1000, `${patternAccepted}, of at most 1000 characters`),
  metadata({ format: 'regex' }),
  rawTransform<string, RegExp>(({ dataset, addIssue, NEVER }) => {
    try {
      return new RegExp(dataset.value)
    } catch (error) {
      addIssue({ message: `${patternAccepted} (in this one: ${messageOf(error).split(': ').at(-1)})` })
      return NEVER
    }
  }),
)

// A blank without a slash is far more often an argument than part of a name: "ruby -w" would be looked for as one program.
const programAccepted = 'a program, or a list of a program and its arguments like ["ruby", "-w"]; the path of the script is put behind it'
const program = pipe(string(programAccepted), regex(/^(?:\S+|.*\/.*)$/, programAccepted), withoutNul(programAccepted))
const argument = pipe(string(programAccepted), withoutNul(programAccepted))
const runtime = union(
  [
    pipe(
      program,
      rawTransform<string, string[]>(({ dataset }) => [dataset.value]),
    ),
    pipe(
      array(argument, programAccepted),
      minLength(1, programAccepted),
      check(([first]) => first !== '', programAccepted),
    ),
  ],
  programAccepted,
)
const runtimeNameAccepted = 'a name of letters, digits and . _ + -, beginning with a letter'
const runtimeName = pipe(string(runtimeNameAccepted), regex(/^[A-Za-z][\w.+-]{0,63}$/, runtimeNameAccepted))

const absoluteAccepted = 'an absolute path'
const absolutePath = pipe(string(absoluteAccepted), regex(/^\/[^\0]{0,4000}$/, absoluteAccepted))
const insideAccepted = 'a path inside the repository, without .. and not beginning with a slash'
const insidePath = pipe(string(insideAccepted), regex(/^(?!\/)(?!(?:.*\/)?\.\.(?:\/|$))[^\0]{1,4000}$/, insideAccepted))
const sparseAccepted = '"inherit", "full", or a list of folders'
const remoteAccepted = 'the name of a remote'
const portsAccepted = 'a whole number from 0 to 100'

function counted(accepted: string, least: number, most: number, facts: Facts) {
  return optional(pipe(number(accepted), integer(accepted), minValue(least, accepted), maxValue(most, accepted), about(facts)))
}

const { limits, retention, digest, supervisor, workspaces, notes, hooks } = defaultSettings

export const configSchema = strictObject({
  $schema: optional(
    pipe(string('the address of a JSON Schema'), about({ description: 'Where an editor finds the schema of this file. Not read by Holdfast.' })),
  ),
  enabled: optional(
    pipe(boolean('true or false'), about({ description: 'false turns Holdfast off: no command is run. One file that says so is enough.', default: true })),
  ),
  limits: group('Bounds of one run, where the caller names none.', {
    timeoutMs: duration({
      description: 'How long a command may run. Through MCP the default is 2m.',
      default: writtenDuration(limits.timeoutMs),
      examples: ['30s', '5m', 90_000],
    }),
    idleTimeoutMs: optional(
      pipe(
        nullable(durationOrNumber(`${durationAccepted}, or null for no such limit`)),
        about({
          description: 'How long a command may go on without printing anything; null is for ever.',
          default: limits.idleTimeoutMs,
          examples: ['2m', null],
        }),
      ),
    ),
    graceMs: duration({
      description: 'The time between the signal that asks a command to end and the one that ends it.',
      default: writtenDuration(limits.graceMs),
      examples: ['5s', 500],
    }),
    maxOutputBytes: size(
      {
        description: 'What is kept on disk of each stream of a run; of more, the beginning and the end are kept.',
        default: writtenSize(limits.maxOutputBytes),
        examples: ['64MiB', 1_000_000],
      },
      minOutputBytes,
    ),
    maxTimeoutMs: duration({
      description: 'No time limit is longer, whoever asks for it. A project cannot raise what the person set.',
      default: writtenDuration(limits.maxTimeoutMs),
      examples: ['24h'],
    }),
  }),
  runtimes: optional(
    pipe(
      record(runtimeName, runtime, 'an object of runtimes by name'),
      about({
        description: 'What runs a script, by name: a program, or a program with arguments. The path of the script is put behind it.',
        default: {},
        examples: [{ ruby: 'ruby', deno: ['deno', 'run'] }],
      }),
    ),
  ),
  env: group('The environment of commands, beside the few names that they always get.', {
    pass: list(variableName, 'a list of names of variables', {
      description: 'Names of variables that commands get as they are set for Holdfast. A project cannot name variables that look secret.',
      examples: [['CI', 'JAVA_HOME']],
    }),
    set: optional(
      pipe(
        record(variableName, value, 'an object of values by name'),
        about({
          description: 'Variables with their values. A name that looks secret is refused: secrets are passed by name.',
          default: {},
          examples: [{ NODE_ENV: 'test' }],
        }),
      ),
    ),
  }),
  mask: group('What is masked in all that is shown, besides names and tokens that look secret by themselves. Only adds.', {
    names: list(glob, 'a list of names in which * stands for any characters', {
      description: 'Variables whose values are masked; * stands for any characters.',
      examples: [['INTERNAL_*']],
    }),
    patterns: list(pattern, 'a list of regular expressions', {
      description: 'Regular expressions of JavaScript, matched within a line; what matches is masked.',
      examples: [['EMP-\\d{6}']],
    }),
  }),
  retention: group('Which runs are kept; the oldest go first. A pinned run and one that goes on always stay.', {
    maxAge: optional(
      durationText('a duration like "90d" or "12h"', {
        description: 'Older runs are removed.',
        default: writtenDuration(retention.maxAgeMs),
        examples: ['90d'],
      }),
    ),
    maxRuns: optional(
      pipe(
        number('a whole number from 1'),
        integer('a whole number from 1'),
        minValue(1, 'a whole number from 1'),
        maxValue(Number.MAX_SAFE_INTEGER, 'a whole number from 1'),
        about({ description: 'How many runs are kept.', default: retention.maxRuns }),
      ),
    ),
    maxBytes: size({ description: 'What all runs together may take on disk.', default: writtenSize(retention.maxBytes), examples: ['10GiB'] }, 1),
  }),
  targets: optional(
    pipe(
      record(targetName, targetSchema, 'an object of targets by name'),
      about({
        description: 'Where commands and files may be besides this machine, by name: containers, accounts on other machines, pods.',
        default: {},
        examples: [{ box: { backend: 'docker', image: 'node:22', memory: '2GiB' }, build: { backend: 'ssh', host: 'build-box', root: '/srv/app' } }],
      }),
    ),
  ),
  defaultTarget: optional(
    pipe(
      union([literal('host'), targetName], `host, or ${targetNameAccepted}`),
      about({ description: 'The target of commands and files where none is named; host is this machine.', default: 'host' }),
    ),
  ),
  supervisor: group('The program that starts commands, so that they outlive whoever asked for them.', {
    use: optional(
      pipe(
        picklist(supervisorUses, 'auto or never'),
        about({ description: 'never: Holdfast starts commands itself, and they end with it.', default: supervisor.use }),
      ),
    ),
    idleMs: duration({
      description: 'How long it stays without runs and without anybody who asks for one.',
      default: writtenDuration(supervisor.idleMs),
      examples: ['10m'],
    }),
  }),
  workspaces: group('Working copies for agents: where they are and how they are made.', {
    root: optional(
      pipe(
        absolutePath,
        about({
          description: "The folder of all workspaces; only in a person's file. Default: in the person's folder for state.",
          examples: ['/data/workspaces'],
        }),
      ),
    ),
    setup: optional(
      pipe(
        nullable(pipe(string('a script for bash, or null'), minLength(1, 'a script for bash, or null'), withoutNul('a script for bash, or null'))),
        about({
          description: 'A script for bash that is run once in each new workspace, without credentials.',
          default: workspaces.options.setup,
          examples: ['npm ci'],
        }),
      ),
    ),
    copyOnWrite: optional(
      pipe(
        boolean('true or false'),
        about({ description: 'Share what is not changed with a frozen copy, where the machine can.', default: workspaces.options.copyOnWrite }),
      ),
    ),
    lfs: optional(
      pipe(
        picklist(featureModes.lfs, featureModes.lfs.join(', ')),
        about({
          description: 'Files in Git LFS. auto: their content where git-lfs is installed; pointers: never; pull: always.',
          default: workspaces.options.lfs,
        }),
      ),
    ),
    submodules: optional(
      pipe(
        picklist(featureModes.submodules, featureModes.submodules.join(', ')),
        about({
          description: 'init-offline: from what this repository has; init: also from where they come; require: like init, and refused where one cannot be had.',
          default: workspaces.options.submodules,
        }),
      ),
    ),
    sparse: optional(
      pipe(
        union([picklist(['inherit', 'full'], sparseAccepted), array(insidePath, sparseAccepted)], sparseAccepted),
        about({
          description: 'Which folders are checked out. inherit: as in the source.',
          default: workspaces.options.sparse,
          examples: [['services/api', 'shared']],
        }),
      ),
    ),
    carry: list(insidePath, 'a list of paths inside the repository', {
      description: 'Ignored files that are carried over from the main checkout, besides those that .worktreeinclude lists.',
      examples: [['.env.test', 'node_modules']],
    }),
    ports: counted(portsAccepted, 0, 100, { description: 'How many ports are reserved for each workspace.', default: workspaces.options.ports }),
    passEnv: list(variableName, 'a list of names of variables', {
      description: 'What commands in a sandbox get from the environment of Holdfast. A project cannot name variables that look secret.',
      examples: [['CI']],
    }),
    remote: optional(
      pipe(
        string(remoteAccepted),
        regex(/^[A-Za-z0-9][\w./-]{0,200}$/, remoteAccepted),
        about({ description: 'Where bases are fetched from. Default: origin, or the only one.', examples: ['upstream'] }),
      ),
    ),
    remotePolicy: optional(
      pipe(
        picklist(remotePolicies, remotePolicies.join(', ')),
        about({ description: 'Whether a base that cannot be fetched is taken from what is here.', default: workspaces.remotePolicy }),
      ),
    ),
    trusted: list(absolutePath, 'a list of absolute paths', {
      description: "Repositories of other users that may be used; only in a person's file.",
    }),
    maxWorkspaces: counted('a whole number from 1', 1, Number.MAX_SAFE_INTEGER, {
      description: 'How many workspaces a repository may have. Default: any number.',
    }),
    maxBytes: size({ description: "What all workspaces together may take on disk; only in a person's file. Default: no limit.", examples: ['50GiB'] }, 1),
    minFree: size(
      {
        description: "With less free space no workspace is made; only in a person's file.",
        default: writtenSize(workspaces.limits.minFreeBytes),
        examples: ['2GiB'],
      },
      0,
    ),
    idle: optional(
      durationText('a duration like "14d" or "12h"', {
        description: 'Not used for so long, a workspace is offered for release by workspace gc.',
        default: writtenDuration(workspaces.limits.idleMs),
        examples: ['7d'],
      }),
    ),
    keepRescues: optional(
      durationText('a duration like "30d" or "12h"', {
        description: "How long saved work is kept at least; only in a person's file.",
        default: writtenDuration(workspaces.limits.rescueMs),
        examples: ['90d'],
      }),
    ),
  }),
  digest: group('The answer to a run.', {
    budget: size({ description: 'Most bytes of a digest, where the caller names none.', default: digest.budget, examples: [1000, 4096] }, 1, 1024 ** 2),
  }),
  notes: group('Durable facts for whoever comes next.', {
    maxPerScope: counted('a whole number from 1 to 10000', 1, 10_000, {
      description:
        "How many notes of the project, of each workspace and of the person are in use; of more, the least useful are retired; only in a person's file.",
      default: notes.maxPerScope,
    }),
  }),
  hooks: group('What the hooks in the hosts of agents do.', {
    leadToExec: optional(
      pipe(
        boolean('true or false'),
        about({ description: 'Whether an agent is told of exec where a shell of its own printed much.', default: hooks.leadToExec }),
      ),
    ),
  }),
})

/** One file, checked. Durations are in milliseconds and sizes in bytes. */
export type ConfigFile = InferOutput<typeof configSchema>
