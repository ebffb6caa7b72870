# Read by ./holdfast and scripts/test: the checks and the set-up of a checkout. The reader has set $dir, its root, and has
# the function is_stale where it asks for a build.
# Nothing here writes to stdout or reads stdin: both belong to the command. Failures end with status 125.

lock_wait_s=300

say() {
  printf 'holdfast: %s\n' "$1" >&2
}

give_up() {
  say "$1"
  exit 125
}

# Sets $node, or says what is missing.
require_node() {
  case $(uname -s) in
    MINGW* | MSYS* | CYGWIN* | Windows*)
      give_up 'Windows is not supported directly; use it inside WSL (Windows Subsystem for Linux)' ;;
  esac
  node=$(command -v node) || give_up 'node was not found; install Node.js 20 or newer (https://nodejs.org) and try again'
  node_version=$("$node" -p process.versions.node </dev/null 2>/dev/null) || give_up "$node does not start; install Node.js 20 or newer (https://nodejs.org)"
  [ "${node_version%%.*}" -ge 20 ] 2>/dev/null || give_up "$node is version $node_version, but Node.js 20 or newer is needed (https://nodejs.org)"
}

# A start asks node for its version only when it is another node than the last time. Failing to remember costs time only.
remember_node() {
  [ -w "$dir/dist" ] || return 0
  printf '%s\n' "$node" >"$dir/dist/.node.$$" && mv -f "$dir/dist/.node.$$" "$dir/dist/.node"
}

needs_install() {
  [ ! -f "$dir/node_modules/.package-lock.json" ] || [ "$dir/package-lock.json" -nt "$dir/node_modules/.package-lock.json" ]
}

# prepare install|build: brings node_modules, and for build also dist, up to date; only one process at a time does so.
prepare() {
  goal=$1
  child=
  mkdir -p "$dir/dist" 2>/dev/null || give_up "the folder $dir/dist cannot be made; Holdfast must be built once where its checkout can be written to"
  lock=$dir/dist/.lock
  take_lock
  trap 'release_lock' EXIT
  trap 'stopped 130' INT
  trap 'stopped 143' TERM
  trap 'stopped 129' HUP
  if needs_install; then
    command -v npm >/dev/null || give_up 'npm was not found; it comes with Node.js (https://nodejs.org)'
    [ -f "$dir/dist/.built" ] && say 'dependencies changed: installing (about 15 s) ...' || say 'first use: installing and building (about 15 s) ...'
    run_step 'npm ci' 'Check the network and the proxy settings of npm, then run the same line again.' install_packages
  fi
  # Asked again, now that no other start is building.
  if [ "$goal" = build ] && is_stale; then
    run_step 'the build' 'Run "npm run build" to see it alone; after a change of the sources, look at that change.' "$node" "$dir/scripts/build.mjs"
    # The one thing that may be missing from a build that succeeds.
    grep '^supervisor: ' "$log" | grep -v '^supervisor: built ' >&2
  fi
  release_lock
  trap - EXIT INT TERM HUP
}

# Install scripts of packages are not needed and not run. NODE_ENV=production of the caller must not leave out the bundler.
install_packages() {
  cd "$dir" && exec npm ci --include=dev --ignore-scripts --no-audit --no-fund --no-progress --loglevel=error
}

# run_step WHAT ADVICE COMMAND...: runs quietly; on failure shows what was printed.
# In the background, so that a signal that only this shell gets is acted on at once.
run_step() {
  what=$1
  advice=$2
  shift 2
  log=$dir/dist/.prepare.log
  "$@" >"$log" 2>&1 </dev/null &
  child=$!
  wait "$child"
  status=$?
  child=
  [ "$status" -eq 0 ] && return 0
  head -n 30 "$log" >&2
  [ "$(wc -l <"$log")" -gt 30 ] && echo "... (the rest is in $log)" >&2
  give_up "$what failed with status $status; what it printed stands above. $advice"
}

stopped() {
  trap '' INT TERM HUP
  if [ -n "$child" ]; then
    kill -TERM "$child" 2>/dev/null
    wait "$child"
  fi
  release_lock
  trap - EXIT
  exit "$1"
}

# The lock is a symbolic link whose text says who holds it: made with its content in one step, readable without a race.
take_lock() {
  waited_s=0
  until ln -s "$$:$(start_time $$)" "$lock" 2>/dev/null; do
    owner=$(readlink "$lock") || owner=
    if [ -z "$owner" ]; then
      # Released just now, or never to be had: a disk that is full or cannot be written to.
      [ "$waited_s" -ge 2 ] && give_up "the file $lock cannot be made; is the disk full, or $dir/dist not writable?"
    elif ! is_alive "$owner"; then
      break_lock "$owner"
      continue
    elif [ "$waited_s" -eq 0 ]; then
      say "another start (pid ${owner%%:*}) is installing or building; waiting for it ..."
    fi
    [ "$waited_s" -ge "$lock_wait_s" ] && give_up "process ${owner%%:*} has been installing or building for $lock_wait_s s; end it, or remove $lock and $lock.break"
    sleep 1
    waited_s=$((waited_s + 1))
  done
}

release_lock() {
  case $(readlink "$lock" 2>/dev/null) in
    "$$":*) rm -f "$lock" ;;
  esac
}

# Two starts may find the same lock dead; the second must not remove the lock that the first has taken by then.
break_lock() {
  mkdir "$lock.break" 2>/dev/null || {
    sleep 1
    waited_s=$((waited_s + 1))
    [ "$waited_s" -lt "$lock_wait_s" ] || give_up "the folder $lock.break was left behind; remove it and $lock"
    return 0
  }
  [ "$(readlink "$lock")" = "$1" ] && rm -f "$lock"
  rmdir "$lock.break"
}

# When a process was started, in ticks since boot; empty where that is not known. A pid alone may have been given away again.
start_time() {
  [ -r "/proc/$1/stat" ] || return 0
  read -r stat <"/proc/$1/stat" || return 0
  set -- ${stat##*) }
  echo "${20}"
}

is_alive() {
  kill -0 "${1%%:*}" 2>/dev/null && [ "$(start_time "${1%%:*}")" = "${1#*:}" ]
}
