import { shellQuoted } from '../core/command.ts'
import { plainPath } from './facts.ts'
import { markOf } from './shell-text.ts'

/*
 * The script that looks around at a site, puts the supervisor there where it is missing, and becomes its bridge. It is one line, read by a
 * shell from its standard input, so that nobody's quoting and no limit of a request can spoil it; any POSIX shell does (dash, busybox).
 * What it says are lines that begin with a word of ours, since login files may print before it.
 */

export interface ProbeTerms {
  /** Letters and digits that nobody else can know. */
  readonly nonce: string
  readonly root: string
  /** The home that the target declares: where it is another one, nothing is put there. */
  readonly home?: string | undefined
  /** Folders to keep files of ours in, best first; those that every system has come after them. */
  readonly folders: readonly string[]
  /** The only folder that will do: where the supervisor was found before. */
  readonly only?: string | undefined
  /** Where a supervisor of another build serves, which alone is meant. */
  readonly socket?: string | undefined
  /** So many folders that could be used are passed over. */
  readonly skip: number
  /** What can be started there; empty: only the facts are asked for. */
  readonly programs: readonly { readonly machine: string; readonly build: string }[]
  readonly idleMs: number
}

/** What the shell is started with. */
export const probeArgv = ['sh', '-c', 'IFS= read -r s && eval "$s"'] as const

/** sockaddr_un has 108 bytes for the path and its final NUL (unix(7)). */
const maxPathBytes = 107
/** Programs that nobody used for so long are removed when a new one comes. */
const unusedDays = 7

export function probeScript(terms: ProbeTerms): string {
  const mark = markOf(terms.nonce)
  const builds = terms.programs.map(({ machine, build }) => `Linux:${machine}) b=${build};;`).join(' ')
  const folders =
    terms.only === undefined
      ? [...terms.folders.flatMap((folder) => [shellQuoted(folder), `${shellQuoted(`${folder}/holdfast-`)}$u`]), ...everywhere].join(' ')
      : shellQuoted(terms.only)
  return [
    `o=$(umask); umask 077; p() { printf '%s%s\\n' ${shellQuoted(mark)} "$1"; }; printf '\\n';`,
    'm=$(uname -m); u=$(id -u); n=$(uname -n | tr -cd A-Za-z0-9_- | cut -c1-24); n=${n:-site};',
    'p "system $(uname -s)"; p "machine $m"; p "uid $u"; p "user $(id -un 2>/dev/null || echo "${USER-}")";',
    'h=${HOME-}; [ -n "$h" ] || h=$(getent passwd "$u" 2>/dev/null | cut -d: -f6);',
    `[ -n "$h" ] || h=$(awk -F: -v u="$u" '$3==u{print $6;exit}' /etc/passwd 2>/dev/null);`,
    'a=$(cd "$h" 2>/dev/null && pwd -P); p "home $h"; p "physical $a";',
    `for v in ${siteVariables.join(' ')}; do eval "x=\\\${$v-}"; [ -z "$x" ] || p "variable $v=$x"; done;`,
    `r=${shellQuoted(terms.root)}; [ ! -d "$r" ] || p "root $(stat -L -c %d:%i "$r" 2>/dev/null)";`,
    terms.home === undefined ? '' : `e=${shellQuoted(plainPath(terms.home))}; [ "$e" = "$a" ] || [ "$e" = "$h" ] || [ "$e/" = "$h" ] || { p none; exit 0; };`,
    `b=; case "$(uname -s):$m" in ${builds} esac; [ -n "$b" ] || { p none; exit 0; };`,
    // A folder that others may look into, or have prepared, is passed over.
    'ok() { mkdir -p "$1" 2>/dev/null; [ -d "$1" ] && [ ! -h "$1" ] || return 1; set -- "$1" $(ls -ldn "$1" 2>/dev/null);',
    'case ${2-} in drwx--[S-]---|drwx--[S-]---.) [ "${4-}" = "$u" ];; *) return 1;; esac; };',
    `k=${terms.skip}; d=; q=; for f in ${folders}; do`,
    'ok "$f" || { q="$q$f is no private folder; "; continue; };',
    `s=$f/$n-$b.sock; [ \${#s} -le ${maxPathBytes} ] || { q="$q$f is too long for a socket; "; continue; };`,
    '[ $k -eq 0 ] || { k=$((k-1)); continue; }; d=$f; break; done;',
    '[ -n "$d" ] || { p "nowhere $q"; exit 0; }; p "folder $d"; P=$d/supervisor-$b-$m;',
    'runs() { case $("$1" --version 2>&1) in *"$b"*) return 0;; *) return 1;; esac; };',
    'if [ -x "$P" ] && runs "$P"; then touch -c "$P" 2>/dev/null; else',
    `p need; IFS=' ' read -r z c || exit 1; t=$d/.up-${terms.nonce}; head -c "$z" >"$t";`,
    'w=$(sha256sum <"$t" 2>/dev/null || openssl dgst -sha256 <"$t" 2>/dev/null);',
    `case $w in *"$c"*|'') ;; *) z=x;; esac;`,
    'if [ "$(wc -c <"$t" 2>/dev/null | tr -d " ")" != "$z" ]; then rm -f "$t"; p "spoiled $d"; exit 0; fi;',
    'chmod 700 "$t"; if runs "$t"; then mv -f "$t" "$P"; else w=$("$t" --version 2>&1); rm -f "$t"; p "refused $w"; exit 0; fi;',
    `find "$d" -maxdepth 1 -type f -name 'supervisor-*' -mtime +${unusedDays} -exec rm -f {} ';' 2>/dev/null;`,
    `find "$d" -maxdepth 1 -type f -name '.up-*' -mtime +1 -exec rm -f {} ';' 2>/dev/null; fi;`,
    // What commands make is as open to others as what a login there makes.
    terms.socket === undefined ? `set -- --home "$d/$n" --idle-ms ${terms.idleMs};` : `s=${shellQuoted(terms.socket)}; set --;`,
    'p "socket $s"; p ready; umask "$o"; exec "$P" --bridge --socket "$s" "$@"',
  ].join(' ')
}

// No TMPDIR: it may be another one for each login, and the supervisor has to be found again.
const everywhere = ['"${XDG_CACHE_HOME:-$h/.cache}/holdfast"', '"/tmp/holdfast-$u"', '"/var/tmp/holdfast-$u"', '"/dev/shm/holdfast-$u"']

/** What commands get from the site in the place of ours. */
export const siteVariables = ['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'TZ', 'TMPDIR'] as const
