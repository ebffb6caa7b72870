/* The processes of a run: finding all of them, and signaling them without ever hitting a stranger. */
#ifndef HOLDFAST_TREE_H
#define HOLDFAST_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process {
  pid_t pid, parent, group, session;
  uint64_t start;   /* field 22 of /proc/PID/stat: clock ticks since boot */
  char state;       /* R, S, D, Z, ... */
  char name[64];    /* as in /proc/PID/stat, without the parentheses */
};

/* False where there is no such process. */
bool process_read(pid_t pid, struct process *process);

/* `BOOT:START`, see docs/supervisor-protocol.md, at most 40 bytes with the NUL. */
void process_identity(uint64_t start, char text[40]);

/* Milliseconds that the process has lived. */
uint64_t process_age_ms(const struct process *process);

/* True where it runs, or waits for a processor or a disk. */
bool process_busy(const struct process *process);

/* What tells the processes of one run from all others. */
struct tree_key {
  pid_t leader;        /* the first process: its group and session have this number */
  uint64_t start;      /* its start time */
  uint64_t tag;        /* the soft limit RLIMIT_RTTIME of every descendant */
  const char *mark;    /* a part, between slashes, of HOLDFAST_RUN in the environment of every descendant */
};

/* All living (not zombie) processes of the run, the leader included while it lives, newest knowledge, into *found (malloc, the caller
   frees). Returns how many, or -1 where /proc cannot be read. `supervisor` and everything above it is never among them. */
ssize_t tree_find(const struct tree_key *key, pid_t supervisor, struct process **found);

/* Between these two, all searches share what they read of the processes: for a moment in which many runs are looked at. Whoever begins a
   run in that moment has it read anew. What somebody else forks in that moment may be missed; who is gone stays gone. */
void tree_share_begin(void);
void tree_share_anew(void);
void tree_share_end(void);

/* A quick look for the usual end: true where `supervisor` surely has no living child besides the `known` ones (pids, sorted ascending), so
   that nothing of a run whose leader is over can be left. Reads one small file. False means "not known": use tree_find. */
bool tree_gets_orphans(void);
bool tree_surely_empty(pid_t supervisor, const pid_t *known, size_t count);

/* Sends the signal to every process of the run (and CONT behind every one but KILL, so that what is stopped acts on it). Returns how many
   got it. `leader_unreaped`: the leader was not waited for yet, so its group number cannot belong to strangers. */
size_t tree_signal(const struct tree_key *key, pid_t supervisor, int signal, bool leader_unreaped);

/* All living descendants of this process, without regard to runs: for the guardian. Returns how many got the signal. */
size_t descendants_signal(pid_t ancestor, int signal);

#endif
