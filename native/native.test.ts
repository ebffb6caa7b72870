import { spawnSync } from 'node:child_process'
import { beforeAll, describe, expect, it } from 'vitest'
import { hasProgram } from '../test/support/has-program.ts'
import { openWorld } from '../test/support/world.ts'
import { compileTest } from './compile.ts'

/** Cases of native/tests/unit.c. */
const promises: Record<string, string> = {
  'start-streams': 'a command reads what it is given and writes to pipes that it can also open by their names',
  'start-blocking-for-the-command': 'our ends of the pipes do not block, and those of the command do',
  'start-no-input': 'a command without input reads end-of-file',
  'start-signals': 'a command begins with every signal at its default and none blocked, whatever its parent ignores',
  'start-descriptors': 'a command gets the three standard descriptors and no other',
  'start-without-standard-descriptors': 'a parent that lacks the standard descriptors starts commands with theirs',
  'start-session': 'a command leads a session and a group of its own',
  'start-given-state': 'a command has the folder, the environment, the umask and the tag that it was given',
  'start-failures': 'a command that cannot be started says which step failed and why, and leaves nothing behind',
  'start-lookup': 'a program is looked up as execvp does: past what may not be executed, in the working folder, and by sh where it names no interpreter',
  'start-too-long': 'arguments beyond the limit of the system are refused',
  'start-no-descriptors-left': 'a start without descriptors left fails and leaves none open',
  'start-copies-nothing': 'a start copies none of the memory of whoever starts, however much that is',
  'start-pty': 'a command on a pseudo-terminal sees its size and its changes, and is interrupted by a key',
  'start-many': 'two hundred starts leave no descriptor open',
  'tree-escapers': 'processes that leave their group, their session, their parent and their environment are found and ended',
  'tree-by-tag-alone': 'a process that kept nothing but the tag is found by it',
  'tree-by-mark-alone': 'a process that kept nothing but the mark is found by it, and by no other text',
  'tree-mark-in-large-environment': 'a mark is found in an environment of more than a megabyte',
  'tree-reused-pid': 'a process that has the pid of a run, but another start time, gets no signal',
  'tree-really-reused-pid': 'a pid that the kernel gave again is not taken for the run, and neither is the group of its number',
  'tree-lower-pid': 'a process whose pid is lower than that of the first one is found, because the kernel began anew',
  'tree-group-without-leader': 'a process that kept nothing but the group is found when the leader is gone',
  'tree-stopped': 'a stopped tree acts on a signal, and a signal that stops it is not undone',
  'tree-cleanup-is-spared': 'what a process starts to clean up after a signal does not get it as well',
  'tree-names': 'a process is read whatever its name holds',
  'tree-first-thread-over': 'a process whose first thread is over still lives',
  'tree-busy-thread': 'a process is busy when any of its threads is',
  'tree-supervisor-is-left-out': 'the supervisor and what started it are never of a run, even with its mark in their environment',
  'tree-empty': 'nothing is left where all children are known, and only then',
  'tree-shared': 'many runs that are looked for in the same moment share one look at all processes',
  'tree-descendants': 'all descendants are ended, whichever run they are of',
  'tree-ages': 'a process has an identity and an age',
  'tree-random': 'every process of random trees is found',
  'tree-forking': 'a tree that forks without end is ended',
}

/** valgrind gives up a process whose exec fails, refuses to lower the number of descriptors, and does not know pidfds. */
const underValgrind = [
  'start-streams',
  'start-lookup',
  'start-pty',
  'tree-escapers',
  'tree-mark-in-large-environment',
  'tree-names',
  'tree-shared',
  'tree-random',
]

interface Build {
  readonly title: string
  readonly compiler: string
  readonly flags: readonly string[]
  /** What runs it. */
  readonly runner: readonly string[]
  readonly cases: readonly string[]
}

const all = Object.keys(promises)
/** The emulator makes a real fork of one that shares memory. */
const emulated = all.filter((name) => name !== 'start-copies-nothing')
const hasCompiler = hasProgram('cc', 'native/')
const canCheckMemory = hasCompiler && hasProgram('valgrind', 'native/ under valgrind')
const canEmulate = hasProgram('aarch64-linux-gnu-gcc', 'native/ on arm64') && hasProgram('qemu-aarch64', 'native/ on arm64')
const builds: readonly (Build & { readonly possible: boolean })[] = [
  { title: 'as it is packed', compiler: 'cc', flags: ['-O2', '-static'], runner: [], cases: all, possible: hasCompiler },
  {
    title: 'with sanitizers',
    compiler: 'cc',
    flags: ['-O1', '-g', '-fno-omit-frame-pointer', '-fsanitize=address,undefined', '-fno-sanitize-recover=all'],
    runner: [],
    cases: all,
    possible: hasCompiler,
  },
  {
    title: 'under valgrind',
    compiler: 'cc',
    flags: ['-O1', '-g'],
    runner: ['valgrind', '--quiet', '--error-exitcode=9', '--leak-check=full'],
    cases: underValgrind,
    possible: canCheckMemory,
  },
  {
    title: 'on arm64, emulated',
    compiler: 'aarch64-linux-gnu-gcc',
    flags: ['-O2', '-static'],
    runner: ['qemu-aarch64'],
    cases: emulated,
    possible: canEmulate,
  },
]

const notHere = 77

for (const { title, compiler, flags, runner, cases, possible } of builds) {
  describe.runIf(possible)(`starting and trees ${title}`, () => {
    const world = openWorld()
    const program = world.path('unit')

    beforeAll(() => {
      compileTest(compiler, program, ['tests/unit.c', 'start.c', 'inherited.c', 'tree.c'], flags)
      return () => world[Symbol.asyncDispose]()
    }, 60_000)

    it.for(cases.map((name) => [promises[name], name] as const))('%s', { timeout: 60_000 }, ([, name], { skip }) => {
      const [command = program, ...args] = [...runner, program, name]
      const { status, stderr } = spawnSync(command, args, { env: { ...world.env, HOLDFAST_RUN: 'self' }, encoding: 'utf8', timeout: 50_000 })
      if (status === notHere) {
        console.warn(`skipped: ${name} ${title}: the kernel does not allow it here`)
        skip()
      }
      expect(status, stderr).toBe(0)
    })
  })
}

it.runIf(hasCompiler)('every case of the program that tries native/ has its promise', async () => {
  await using world = openWorld()
  compileTest('cc', world.path('unit'), ['tests/unit.c', 'start.c', 'inherited.c', 'tree.c'], ['-O0'])
  const { stdout } = spawnSync(world.path('unit'), { encoding: 'utf8', timeout: 10_000 })
  expect(stdout.trim().split('\n').sort()).toEqual(all.sort())
})
