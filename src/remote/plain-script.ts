import { type ResolvedCommand, shellQuoted } from '../core/command.ts'
import { beforeLinePrinted, markOf, toolsPath } from './shell-text.ts'

/*
 * How a command runs at a site where no supervisor can. A shell reads a script from its standard input, so that no value of a variable is
 * ever an argument; the script starts the command in a session of its own and says on standard error, in lines that begin with a word that
 * nobody else knows, which process that is and how it ended. It says the same end on standard output, behind all that the command has printed
 * there: nobody carries both streams in step. What is still sent is read to its end, since Podman drops output together with input that nobody
 * takes. Any POSIX shell does (dash, busybox, bash).
 */

/** How the command reads: nothing; what comes behind the script; or lines of base64 up to a line with a dot, where an input cannot be ended alone. */
export type PlainInput = 'none' | 'raw' | 'framed'

export interface PlainTerms {
  readonly nonce: string
  readonly command: ResolvedCommand
  /** Absolute, at the site: the folder of the run, made for the files of the command and removed after its end. */
  readonly folder: string
  readonly input: PlainInput
}

/** Reads a script up to the line that is the nonce, in an environment of nothing but where programs are. */
const reader = 'h=; while IFS= read -r l && [ "$l" != "$1" ]; do h="$h$l\n"; done; eval "$h"'.replace('\\n', '\n')

export const plainArgv = (nonce: string): readonly [string, ...string[]] => ['env', '-i', `PATH=${toolsPath}`, 'sh', '-c', reader, 'sh', nonce]

/** Names that bash takes no value for: to give one ends the shell. */
const readOnlyNames = new Set(['UID', 'EUID', 'PPID', 'BASHOPTS', 'SHELLOPTS', 'BASH_VERSINFO'])

/** The first variable that a shell cannot hand on; undefined where there is none. */
export const refusedVariable = ({ env }: ResolvedCommand): string | undefined => Object.keys(env).find((name) => readOnlyNames.has(name))

/** The script with the line that ends it. */
export function plainScript({ nonce, command, folder, input }: PlainTerms): string {
  const { argv, cwd, env, files = [] } = command
  const program = argv[0]
  const mark = shellQuoted(markOf(nonce))
  const own = ['PWD', 'OLDPWD', 'SHLVL', '_', 'PATH'].filter((name) => env[name] === undefined)
  const variables = Object.entries(env).map(([name, value]) => `${name}=${shellQuoted(value)}`)
  const words = argv.map(shellQuoted).join(' ')
  const start = [
    // What the shell itself exports is not the command's.
    `unset ${own.filter((name) => name !== 'PATH').join(' ')};`,
    variables.length > 0 ? `export ${variables.join(' ')};` : '',
    env.PATH === undefined ? 'unset PATH;' : '',
    `if [ -n "$s" ]; then exec "$s" ${words}; else exec ${words}; fi`,
  ].join(' ')
  const child = `( ${start} )`
  const decode = `( while IFS= read -r l && [ "$l" != . ]; do printf %s "$l" | base64 -d; done ) <&3 2>/dev/null`
  const run = { none: `${child} </dev/null 3<&- &`, raw: `${child} <&3 3<&- &`, framed: `${decode} | ${child} 3<&- &` }[input]
  return [
    `say() { printf '${beforeLinePrinted}%s%s\\n' ${mark} "$1"; }; fail() { rm -rf ${shellQuoted(folder)}; say "failed $1 $2" >&2; exit 0; }`,
    ...(files.length > 0
      ? [
          `umask 077; mkdir -p ${shellQuoted(folder)} && chmod 700 ${shellQuoted(folder)} || fail folder EACCES`,
          ...files.map(
            ({ name, bytes }) =>
              `printf %s ${shellQuoted(Buffer.from(bytes).toString('base64'))} | base64 -d >${shellQuoted(`${folder}/${name}`)} || fail folder EIO`,
          ),
        ]
      : []),
    // As at a login, whatever this shell was started with.
    'umask 022',
    `cd ${shellQuoted(cwd)} 2>/dev/null || { if [ -d ${shellQuoted(cwd)} ]; then fail cwd EACCES; elif [ -e ${shellQuoted(cwd)} ]; then fail cwd ENOTDIR; else fail cwd ENOENT; fi; }`,
    findProgram(program, env.PATH),
    's=$(command -v setsid)',
    'say begun',
    'exec 3<&0',
    run,
    'p=$!; exec 3<&-',
    'say "begun $p" >&2',
    // What a shell has to say of a signal is no output of the command.
    '{ wait "$p"; } 2>/dev/null; c=$?',
    `rm -rf ${shellQuoted(folder)}`,
    'say "ended $c" >&2; say ended',
    ...(input === 'raw' ? ['cat >/dev/null 2>&1'] : []),
    linger,
    'exit "$c"',
    nonce,
    '',
  ].join('\n')
}

/** Begins a loop over the processes that are there: `l` is what proc(5) says of each in its stat. */
const eachProcess = 'for f in /proc/[0-9]*/stat; do { IFS= read -r l <"$f"; } 2>/dev/null || continue;'

/**
 * Podman carries nothing any more once the shell has ended, so it stays for as long as anybody listens to what the command left behind, like a
 * `tee` that has just read the last of it.
 */
const linger = [
  `left() { ${eachProcess} set -- \${l##*\\) };`,
  'if [ "$4" = "$p" ]; then case $1 in Z|X) ;; *) return 0;; esac; fi; done; return 1; };',
  'i=0; while [ $i -lt 20 ] && left; do i=$((i+1)); sleep 0.1 2>/dev/null || sleep 1; done',
].join(' ')

/** Sees to it that there is such a program before anything is started: what a shell says of a missing one is a status like any other. */
function findProgram(program: string, path: string | undefined): string {
  const judge = '[ -e "$f" ] || fail program ENOENT; [ -f "$f" ] && [ -x "$f" ] || fail program EACCES'
  if (program.includes('/')) return `f=${shellQuoted(program)}; ${judge}`
  const name = shellQuoted(program)
  return `f=; g=; o=$IFS; IFS=:; set -f; v=${shellQuoted(path ?? toolsPath)}; for d in $v; do q=\${d:-.}/${name}; if [ -f "$q" ]; then if [ -x "$q" ]; then f=$q; break; fi; g=$q; fi; done; set +f; IFS=$o; [ -n "$f" ] || f=$g; [ -n "$f" ] || fail program ENOENT; ${judge}`
}

/**
 * Sends a signal to the process group of a command: arguments are the name without SIG, and its first process. It is sent where one of them
 * is alive: a kill succeeds for what is dead, too, until its parent has taken notice. Where there is no proc(5), the kill has to be believed.
 */
export const signalArgv = (nonce: string, name: string, pid: number): readonly [string, ...string[]] => [
  'sh',
  '-c',
  [
    's=$1; m=$2; k=$3; a=; [ -r /proc/self/stat ] || a=1;',
    `${eachProcess} set -- \${l##*\\) };`,
    'if [ "$3" = "$m" ]; then case $1 in Z|X) ;; *) a=1; break;; esac; fi; done;',
    'if kill "-$s" "-$m" 2>/dev/null && [ -n "$a" ]; then w=sent; else w=nobody; fi;',
    'printf \'\\n%s%s\\n\' "$k" "$w"',
  ].join(' '),
  'sh',
  name,
  String(pid),
  markOf(nonce),
]

/** Lists what is alive of a session: lines of pid, state and name (proc(5), stat). */
export const treeArgv = (nonce: string, pid: number): readonly [string, ...string[]] => [
  'sh',
  '-c',
  [
    eachProcess,
    'n=${l#*\\(}; n=${n%\\)*}; i=${l%% *}; r=${l##*\\) }; m=$1; k=$2;',
    'set -- $r; t=$1; g=$3; e=$4; set -- "$m" "$k";',
    'if [ "$g" = "$m" ] || [ "$e" = "$m" ]; then case $t in Z|X) ;; *) printf \'\\n%sprocess %s %s %s\\n\' "$k" "$i" "$t" "$n";; esac; fi; done;',
    'printf \'\\n%slisted\\n\' "$2"',
  ].join(' '),
  'sh',
  String(pid),
  markOf(nonce),
]
