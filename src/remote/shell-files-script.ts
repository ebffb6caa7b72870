import { toolsPath } from './shell-text.ts'

/*
 * What is done to files where no supervisor runs: little programs for a POSIX shell (dash, busybox, bash) of Linux. Each is called with the
 * mark of its messages, the root, and what it needs. The current directory is the handle: a path is walked name by name with `cd -P`, links are
 * read and walked like the path itself, and what `PWD` says after each step tells whether that is inside. A message is a line with
 * the mark and a word, texts that end with NUL, and a line with the mark and a dot.
 */

/** Names of staged content, see src/files/staged.ts: which process it was is not to be known from elsewhere, so its age decides. */
const stagedPrefix = '.holdfast-staged-'
const hex = (count: number): string => '[0-9a-f]'.repeat(count)

const messages = `
LC_ALL=C; export LC_ALL; unset CDPATH; PATH=\${PATH:+$PATH:}${toolsPath}; nl='
'; IFS=" $nl"
M=$1; R=$2; shift 2; W=0; Q=; S=; N=; K=; D=
say() { word=$1; shift; printf '\\n%s%s\\n' "$M" "$word"; [ $# -eq 0 ] || printf '%s\\000' "$@"; printf '\\n%s.\\n' "$M"; }
drop() { [ -z "$S" ] || rm -f "$S"; S=; }
# What is wrong outside of the root is not told, but loops.
fail() {
  case $1 in loop|swapped) ;; *) inside || set -- outside 'leads outside';; esac
  if [ -n "$Q" ]; then case $1 in missing|kind) exit 0;; esac; fi
  drop; say failed "$W" "$@"; spill; exit 9
}
spill() { :; }
said() { fail said "$e"; }
`

const walking = `
inside() { case $PWD/ in "$T"/*) ;; *) return 1;; esac; }
enter() {
  cd -P "$R" 2>/dev/null || { if [ -d "$R" ]; then w=denied; else w=root; fi; say failed 0 $w; spill; exit 9; }
  T=$PWD; [ "$T" != / ] || T=
}
# The entry from the root, in D.
rel() { D=\${PWD#"$T"}; D=\${D#/}; D=\${D:+$D/}$N; D=\${D:-.}; }
# Whether a path has state of git in it. HFS+ leaves out some characters of names.
git() {
  v=$1; a=$(printf '\\342\\200'); b=$(printf '\\342\\201'); c=$(printf '\\357\\273')
  case $v in *"$a"*|*"$b"*|*"$c"*)
    for z in $(printf '\\342\\200\\214 \\342\\200\\215 \\342\\200\\216 \\342\\200\\217 \\342\\200\\252 \\342\\200\\253 \\342\\200\\254 \\342\\200\\255 \\342\\200\\256 \\342\\201\\252 \\342\\201\\253 \\342\\201\\254 \\342\\201\\255 \\342\\201\\256 \\342\\201\\257 \\357\\273\\277'); do
      while :; do case $v in *"$z"*) v=\${v%%"$z"*}\${v#*"$z"};; *) break;; esac; done
    done;;
  esac
  case /$v/ in */.[gG][iI][tT]/*) ;; *) return 1;; esac
}
kind() { if [ -L "./$N" ]; then K=l; elif [ -f "./$N" ]; then K=f; elif [ -d "./$N" ]; then K=d; elif [ -e "./$N" ]; then K=o; else K=; fi; }
words() { case $K in f) w='a file';; d) w='a directory';; l) w='a link';; *) w='a pipe, socket or device';; esac; }
strip() { while :; do case $t in /*) t=\${t#/};; ./*) t=\${t#./};; .) t=;; *) return;; esac; done; }
# Goes where the path $1 leads: then the entry is N in the current directory, and of the kind K; N is empty for the root. $2 has letters: c for what
# is to be changed, p to make directories on the way, k to keep a link at the end, t to tell of links.
walk() {
  enter; t=$1; O=$2; L=0; N=; K=
  while strip; [ -n "$t" ]; do
    case $t in */*) n=\${t%%/*}; t=\${t#*/}; strip;; *) n=$t; t=;; esac
    if [ "$n" = .. ]; then cd -P .. 2>/dev/null || fail denied; continue; fi
    [ \${#n} -le 255 ] || fail long
    if [ -L "./$n" ]; then
      if [ -z "$t" ] && inside; then case $O in *k*) N=$n; K=l; break;; esac; fi
      L=$((L+1)); [ $L -le 40 ] || fail loop
      l=$(readlink "./$n" && echo x) || fail swapped
      l=\${l%x}; l=\${l%"$nl"}
      case $O in *t*) if inside; then N=$n; rel; N=; say link "$D" "$l"; else say link '' "$l"; fi;; esac
      case $l in /*) cd -P /;; esac
      t=$l\${t:+/$t}
    elif [ -d "./$n" ]; then
      if [ -z "$t" ] && inside; then N=$n; K=d; break; fi
      cd -P "./$n" 2>/dev/null || { [ -d "./$n" ] || fail swapped; fail denied; }
    elif ! inside; then fail outside
    elif [ -z "$t" ]; then N=$n; kind; [ "$K" != l ] || fail swapped; break
    elif [ -e "./$n" ]; then fail kind 'below a file' 'below a directory'
    else
      case $O in *p*) ;; *) fail missing;; esac
      N=$n; rel; N=; ! git "$D" || fail git
      e=$(mkdir "./$n" 2>&1) || [ -e "./$n" ] || [ -L "./$n" ] || said
      t=$n\${t:+/$t}
    fi
  done
  inside || fail outside
  if [ -z "$N" ]; then K=d; if [ "$PWD" != "\${T:-/}" ]; then N=\${PWD##*/}; cd -P .. 2>/dev/null || fail denied; fi; fi
  rel
  case $O in *c*) ! git "$D" || fail git;; esac
}
format='%d:%i %f %s %a %h %u:%g %Y %y'
facts() { s=$(stat -c "$format" "./\${N:-.}" 2>&1) || { e=$s; said; }; }
file() { case $K in f) ;; *) words; fail kind "$w" 'a file';; esac; }
`

/** Arguments: path, letters for the walk. */
const look = `
walk "$1" "$2"
if [ -n "$K" ]; then facts; else s=; fi
if [ -n "$N" ]; then a=\${PWD%/}/$N; else a=$PWD; fi
say found "$D" "$a" "$s"
`

/** Arguments: path, offset and length of what is wanted at once. Then requests are read: `OFFSET LENGTH`, or `hash LENGTH`. */
const open = `
piece() {
  [ "$2" -gt 0 ] || return 0
  dd if=/proc/$$/fd/4 bs=65536 skip=$(($1/65536)) count=$((($2+$1%65536+65535)/65536)) 2>/dev/null |
    if [ $(($1%65536)) -eq 0 ]; then head -c "$2"; else tail -c +$(($1%65536+1)) | head -c "$2"; fi
}
serve() {
  case $1 in
    hash) w=$(piece 0 "$2" | sha256sum); say hash "\${w%% *}";;
    *) printf '\\n%sdata\\n' "$M"; piece "$1" "$2"; printf '\\n%s.\\n' "$M";;
  esac
}
walk "$1" ''
[ -n "$K" ] || fail missing
file
e=$( ( : <"./$N" ) 2>&1) || said
exec 4<"./$N"
facts; v=$s
s=$(stat -L -c "$format" "/proc/$$/fd/4" 2>&1) || { e=$s; said; }
[ "\${s%% *}" = "\${v%% *}" ] && [ ! -L "./$N" ] || fail swapped
say opened "$D" "$s"
serve "$2" "$3"
while read -r o l; do serve "$o" "$l"; done
`

const staging = `
how=; I=
trap 'drop; exit 1' HUP INT TERM PIPE
# Where it is to be written. $2 is d where the text of the path means a directory.
target() {
  if [ "$2" = d ]; then walk "$1" c; fail kind 'a directory' 'a file'; fi
  walk "$1" cp
  if [ -n "$K" ]; then file; [ -w "./$N" ] || fail denied; fi
}
sweep() {
  for f in ${stagedPrefix}[0-9]*; do
    r=\${f#${stagedPrefix}}
    case $r in *[!0-9a-f-]*) continue;; *-*-${hex(12)}-${hex(16)}) ;; *) continue;; esac
    u=$(id -u); [ "$u" != 0 ] || u=
    find "./$f" -prune -type f -mtime +0 \${u:+-user "$u"} -exec rm -f {} + 2>/dev/null
  done
}
new() { S=\${1%/}/${stagedPrefix}$$--000000000000-$2; e=$( (umask 077; set -C; : >"$S") 2>&1 ) || { S=; return 1; }; }
# An empty file in S; where the directory takes none, and one that is there is to be written, elsewhere.
stage() {
  new "$PWD" "$1" && return
  case $e in *'ermission denied'*|*'not permitted'*) ;; *) said;; esac
  [ -n "$K" ] || fail denied 'its directory takes no new file'
  new "\${TMPDIR:-/tmp}" "$1" || said
}
# Takes what is still sent: Podman drops what was said together with input that nobody takes. I is set once there is some.
spill() { [ -n "$I" ] || return 0; [ -n "$how" ] || read -r how; [ "$how" != raw ] || cat >/dev/null; }
# What comes, into S: up to the end of the input, or as lines of base64 up to a dot. Some programs only see a line once there is a further one.
fill() {
  I=1; read -r how
  case $how in
    raw) e=$( { cat >"$S"; } 2>&1) || said;;
    framed) e=$( { sed -n '/^\\.$/q;p' | base64 -d >"$S"; } 2>&1) || said;;
  esac
  set -- $(wc -c <"$S") $(sha256sum <"$S"); size=$1; sum=$2
}
plain() { printf %o $((0666 & ~0$(umask))); }
taken() { [ ! -d "./$N" ] || fail swapped; e=$(mv -fT "$1" "./$N" 2>&1) && return; case $e in *nvalid*|*nrecognized*|*llegal*) e=$(mv -f "$1" "./$N" 2>&1);; *) return 1;; esac; }
refused() { case $e in *'ermission denied'*|*'not permitted'*|*usy*) ;; *) said;; esac; }
known() { set -- $(stat -c '%u:%g %a %h' "./$N" 2>/dev/null); [ $# -eq 3 ] || fail swapped; o=$1; m=$2; h=$3; while [ \${#m} -gt 3 ]; do m=\${m#?}; done; }
over() {
  [ "$h" = 1 ] || fail denied 'it has other names (hard links), and its directory takes no new file'
  e=$( (cat "$S" >"./$N") 2>&1) || { case $e in *'ext file busy'*) fail denied 'it is a program that runs, and its directory takes no new file';; esac; said; }
  drop; U=in-place
}
beside() { case $S in "\${PWD%/}/${stagedPrefix}"*) ;; *) return 1;; esac; }
# Gives S the owner and the permissions of the file that is there, and its name.
replace() {
  beside || return
  [ "$(stat -c %u:%g "$S")" = "$o" ] || e=$(chown "$o" "$S" 2>&1) || { refused; return 1; }
  e=$(chmod "$m" "$S" 2>&1) || said
  if taken "$S"; then S=; else refused; return 1; fi
}
# Puts S in the place of the entry; $1 are the permissions of a new one.
place() {
  U=staged; C=1
  if [ -n "$K" ]; then C=0; known; replace || over; return; fi
  beside || fail swapped
  e=$(chmod "\${1:-$(plain)}" "$S" 2>&1) || said
  if taken "$S"; then S=; else refused; fail denied 'its directory takes no new file'; fi
}
`

/** Arguments: path, d or f, a nonce, the size and the SHA-256 of what comes. Reads `raw` or `framed`, and the content. */
const write = `
I=1; target "$1" "$2"; sweep; stage "$3"; fill
[ "$size $sum" = "$4 $5" ] || fail changed "$4 bytes were sent, and $size arrived, or others"
place ''
say written "$D" $C $U
`

/** Arguments like those of a write, and another nonce. */
const append = `
# All of it with one call of the system. What could be added only in part is taken back, unless others added something as well.
add() {
  [ "$size" -gt 0 ] || return 0
  was=$(wc -c <"./$N")
  if [ "$size" -le 67108864 ]; then e=$( (dd bs="$size" count=1 <"$S" >>"./$N") 2>&1) && return; else e=$( (cat "$S" >>"./$N") 2>&1) && return; fi
  is=$(wc -c <"./$N"); k=$((is-was))
  [ $k -gt 0 ] || said
  [ "$(tail -c +$((was+1)) "./$N" | sha256sum)" = "$(head -c $k "$S" | sha256sum)" ] || fail errno "ENOSPC, after some of $size bytes"
  dd of="./$N" bs=1 seek="$was" count=0 2>/dev/null
  said
}
fresh() { for f in ./${stagedPrefix}[0-9]*; do [ ! "$f" -ef "./$N" ] || return 0; done; return 1; }
I=1; target "$1" "$2"; sweep; stage "$3"; fill
[ "$size $sum" = "$4 $5" ] || fail changed "$4 bytes were sent, and $size arrived, or others"
t=0
while :; do
  kind
  case $K in
    f)
      C=0; known
      # The other name may be that of one who is just making the file, who takes it away at once.
      if [ "$h" != 1 ] && [ "$size" != 0 ]; then
        a=$h; t=$((t+1))
        if [ $t -lt 100 ] && fresh; then sleep 0.05 2>/dev/null || sleep 1; continue; fi
        known; [ "$h" = "$a" ] || continue
      fi
      if [ "$h" = 1 ] || [ "$size" = 0 ]; then add; U=in-place; break; fi
      A=$S; S=; new "$PWD" "$6" || { S=$A; refused; fail denied 'it has other names (hard links), and its directory takes no new file'; }
      e=$( (cat "./$N" "$A" >"$S") 2>&1) || { rm -f "$A"; said; }
      rm -f "$A"; U=staged
      replace || fail denied 'it has other names (hard links), and its directory takes no new file'
      break;;
    '')
      beside || fail swapped
      C=1; U=staged; e=$(chmod "$(plain)" "$S" 2>&1) || said
      # Unlike a rename, it replaces nothing.
      e=$(ln "$S" "./$N" 2>&1) && break
      kind; [ -z "$K" ] || continue
      case $e in *'o such file'*|*'o space'*|*uota*) said;; esac
      if taken "$S"; then S=; break; fi
      said;;
    *) fail swapped;;
  esac
done
drop
say written "$D" $C $U
`

/** Arguments: path, d or f, a nonce. What comes stays under the name that is told. */
const stage = `
target "$1" "$2"; sweep; stage "$3"
say ready
fill
say staged "$S" "$size" "$sum" || drop
`

/** Arguments: path, d or f, a nonce, what is staged, permissions of a new file. */
const commit = `
A=$4; [ -f "$A" ] && [ ! -L "$A" ] || { say failed 0 changed 'what was staged is gone'; exit 9; }
target "$1" "$2"
case $A in
  "\${PWD%/}/${stagedPrefix}"*) S=$A;;
  *) stage "$3"; e=$( (cat "$A" >"$S") 2>&1) || said;;
esac
place "$5"
rm -f "$A"
say written "$D" $C $U
`

/** Argument: what is staged. */
const discard = `
case $1 in */${stagedPrefix}*) rm -f "$1";; esac
say discarded
`

/** Arguments: path. */
const mkdir = `
walk "$1" cp; C=0
case $K in
  d) ;;
  '') if e=$(mkdir "./$N" 2>&1); then C=1; else kind; case $K in d) ;; '') said;; *) fail swapped;; esac; fi;;
  *) fail kind 'a file' 'a directory';;
esac
say made "$D" $C
`

const holding = `
# Looks through a directory before it is removed or moved. Whoever asks says whether one of these names belongs to git.
held() {
  d=$(find "./$N" -type d -exec stat -c %d {} + 2>&1 | sort -u)
  if [ "$d" != "$(stat -c %d .)" ]; then
    case $d in *[!0-9"$nl"]*) e=$d; said;; *) fail denied 'another file system is mounted there, or below it';; esac
  fi
  printf '\\n%sbelow\\n' "$M"; find "./$N" -name '*.*[gG]*[iI]*[tT]*' -print0; printf '\\n%s.\\n' "$M"
  read -r go && [ "$go" = go ] || exit 9
}
# What is itself to go, also where it is a link, but not where that leads out.
leaving() {
  ( Q=1; walk "$1" c ) || exit 9
  walk "$1" ck
  [ -n "$N" ] || fail outside 'is the root itself'
  [ -n "$K" ] || fail missing
}
`

/** Arguments: path, r for all that is in it. Answers `below` with names, and goes on when it reads `go`. */
const remove = `
leaving "$1"; facts; count=1
if [ "$K" != d ]; then e=$(rm -f "./$N" 2>&1) || said
elif [ "$2" = r ]; then
  held
  count=$(find "./$N" -print0 | tr -dc '\\000' | wc -c)
  e=$(rm -rf "./$N" 2>&1) || said
else e=$(rmdir "./$N" 2>&1) || said
fi
say removed "$D" "$s" $((count))
`

/** Arguments: the path of what is moved, where to, r to replace a file. Answers like a removal. */
const move = `
renamed() { e=$(mv -fT "$1" "./$N" 2>&1) && return; case $e in *nvalid*|*nrecognized*|*llegal*) e=$(mv -f "$1" "./$N" 2>&1) && return;; esac; said; }
leaving "$1"; from=$D; old=\${PWD%/}/$N; k=$K; id=$(stat -c %d:%i "./$N")
[ "$K" != d ] || held
W=1
( walk "$2" cp ) || exit 9
walk "$2" ck
[ -n "$N" ] || fail outside 'is the root itself'
if [ "$k" = d ]; then case $D in "$from"/*) fail kind 'below what is to be moved' 'outside of it';; esac; fi
C=0
if [ -z "$K" ]; then
  [ "\${id%%:*}" = "$(stat -c %d .)" ] || fail errno EXDEV
  if [ "$k" != f ]; then renamed "$old"
  # Unlike a rename, it replaces nothing that appeared meanwhile.
  elif e=$(ln "$old" "./$N" 2>&1); then e=$(rm -f "$old" 2>&1) || { rm -f "./$N"; said; }
  else kind; [ -z "$K" ] || fail swapped; renamed "$old"
  fi
else
  words
  [ "$3" = r ] || fail kind "$w that is there already" 'a name that nothing has'
  [ "$k" != d ] || fail kind "$w" 'a name that nothing has'
  [ "$K" = f ] || fail kind "$w" 'a file'
  [ -w "./$N" ] || fail denied
  C=1
  if [ "$id" != "$(stat -c %d:%i "./$N")" ]; then renamed "$old"
  # Two names of one file: a rename does nothing.
  elif [ "$D" != "$from" ]; then e=$(rm -f "$old" 2>&1) || said
  else C=0
  fi
fi
say moved "$from" "$D" $C
`

/**
 * Arguments: path. Answers with all names, then reads requests: `facts` or `links`, behind it names as lines of base64, and a dot; answers with a line
 * for each, or with what each link says.
 */
const list = `
walk "$1" ''
[ -n "$K" ] || fail missing
[ "$K" = d ] || { if [ "$K" = f ]; then w='a file'; else w='no directory'; fi; fail kind "$w" 'a directory'; }
if [ -n "$N" ]; then
  cd -P "./$N" 2>/dev/null || { [ -d "./$N" ] || fail swapped; fail denied; }
  [ "$PWD" = "\${T}/$D" ] || fail swapped
fi
[ -r . ] || fail denied
say listed "$D"
printf '\\n%snames\\n' "$M"; find . ! -name . -prune -print0; printf '\\n%s.\\n' "$M"
names() { while IFS= read -r l && [ "$l" != . ]; do printf '%s\\n' "$l"; done | base64 -d; }
while read -r what; do
  printf '\\n%s%s\\n' "$M" "$what"
  case $what in
    facts) names | xargs -0 stat -c '%f %s %n' 2>/dev/null;;
    links) names | xargs -0 sh -c 'for f do readlink "$f" 2>/dev/null; printf "\\000"; done' sh;;
  esac
  printf '\\n%s.\\n' "$M"
done
`

const start = `${messages}${walking}`

export const fileScripts = {
  look: `${start}${look}`,
  open: `${start}${open}`,
  write: `${start}${staging}${write}`,
  append: `${start}${staging}${append}`,
  stage: `${start}${staging}${stage}`,
  commit: `${start}${staging}${commit}`,
  discard: `${messages}${discard}`,
  mkdir: `${start}${mkdir}`,
  remove: `${start}${holding}${remove}`,
  move: `${start}${holding}${move}`,
  list: `${start}${list}`,
} as const
export type FileScript = keyof typeof fileScripts
