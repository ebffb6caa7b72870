#!/bin/bash
# Prints numbered lines and notes each one in a file of its own, once it is written: so a test knows which bytes went into the pipe, whoever
# was killed meanwhile. Every fifth line goes to stderr. Between its two halves it waits until somebody writes a line to the gate.
#   steps.sh FOLDER KIND LINES WIDTH      FOLDER holds the fifo `gate`; printed.1 and printed.2 are made there
folder=$1 kind=$2 lines=$3 width=$4
exec 7>>"$folder/printed.1" 8>>"$folder/printed.2" 9<>"$folder/gate"
printf -v pad '%*s' "$width" ''
pad=${pad// /x}
number=0

say() {
  local text
  printf -v text '%s %06d %s\n' "$1" "$((number += 1))" "$pad"
  if ((number % 5 == 0)); then
    printf %s "$text" >&2 && printf %s "$text" >&8
  else
    printf %s "$text" && printf %s "$text" >&7
  fi
}

half() {
  local i
  for ((i = 0; i < lines; i += 1)); do say "$1"; done
}

pass() {
  echo "$1" >>"$folder/passed"
}

gate() {
  pass waiting
  local word
  read -r word <&9
}

case $kind in
  plain)
    half first; gate; half second; exit 7 ;;
  silent)
    gate; half second; exit 7 ;;
  endless)
    half first; pass waiting
    until read -r -t 0.001 word <&9; do half more; done
    exit 7 ;;
  mid-line)
    half first; printf 'unfinished' && printf 'unfinished' >&7; gate; half second; exit 7 ;;
  stubborn)
    # Says a line for each TERM and goes on.
    trap 'say term; pass term' TERM
    half first; pass waiting
    until read -r -t 0.02 word <&9; do :; done
    half second; exit 7 ;;
  leaving)
    # Ends, and leaves behind who holds the pipes and prints the second half later.
    half first
    (gate; half second; pass late) &
    exit 7 ;;
  reading)
    half first; pass waiting
    while read -r word; do say "read-$word"; done
    exit 7 ;;
  nested)
    # The printing is done by the child of a child. What a shell says itself of a child that was killed is thrown away.
    exec 6>&2 2>/dev/null
    bash -c 'echo $$ >"$0/middle"; bash "$@" 2>&6 6>&-; exit $?' "$folder" "${BASH_SOURCE[0]}" "$folder" plain "$lines" "$width"
    exit $? ;;
esac
