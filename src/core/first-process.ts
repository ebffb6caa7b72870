/** The folder of ours in a container or pod that we make, writable for its user. */
export const privateFolder = '/run/holdfast'
/** The home directory of a user that has none in the image. */
export const madeHome = `${privateFolder}/home`
export const defaultIdleMs = 10 * 60_000

/**
 * The first process of a container or pod: it takes in orphans, and ends it when nobody kept it for so long, also when every Holdfast is dead.
 * `kept` says that somebody came; a run that goes on under a supervisor counts too. `over` and `kept` are written before the other one is
 * looked at, by both sides, so that nobody comes to one that is just ending and takes it for one that stays.
 */
const firstProcess = `trap 'exit 0' TERM INT HUP
idle=$1 tick=$2 dir=$3 passed=0
: >"$dir/last"
while :; do
  sleep "$tick" & wait "$!" || exit 127
  passed=$((passed + tick))
  if [ -e "$dir/kept" ]; then mv -f "$dir/kept" "$dir/last"; passed=0; fi
  [ "$passed" -ge "$idle" ] || continue
  for file in "$dir"/runs/*/process.json "$dir"/*/runs/*/process.json "$dir"/*/*/runs/*/process.json "$dir"/*/*/*/runs/*/process.json; do
    [ -e "$file" ] && ! [ -e "\${file%process.json}end.json" ] || continue
    IFS= read -r line <"$file" || :
    pid=\${line#*\\"pid\\":}
    if [ -d "/proc/\${pid%%,*}" ]; then : >"$dir/last"; passed=0; continue 2; fi
  done
  : >"$dir/over"
  if [ -e "$dir/kept" ]; then rm -f "$dir/over"; continue; fi
  exit 0
done`

export function firstCommand(idleMs: number): string[] {
  const idleS = Math.max(1, Math.ceil(idleMs / 1000))
  return ['/bin/sh', '-c', firstProcess, 'holdfast', String(idleS), String(Math.max(1, Math.min(15, Math.floor(idleS / 8)))), privateFolder]
}

/** Run by whoever comes to one of ours: it is in use, and what the home directory is. Status 9: it is just ending. */
const arrival = `: >"$1/kept" || exit 8
if [ -e "$1/over" ]; then exit 9; fi
if [ -n "$HOME" ] && [ "$HOME" != / ] && [ -d "$HOME" ] && [ -w "$HOME" ]; then echo own; else mkdir -p "$2" && echo made; fi`

export const arrivalArgv: readonly [string, ...string[]] = ['/bin/sh', '-c', arrival, 'holdfast', privateFolder, madeHome]
