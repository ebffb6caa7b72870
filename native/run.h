/* A run: one command, from its start until nothing of it is left. */
#ifndef HOLDFAST_RUN_H
#define HOLDFAST_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arrival.h"
#include "ending.h"
#include "frame.h"
#include "input.h"
#include "log.h"
#include "record.h"
#include "server.h"
#include "start.h"
#include "timers.h"
#include "tree.h"

/* Ending: the ladder. Draining: what is in the pipes is read. Settling: what is left gets a moment to go. Joining: the logs are closed.
   Ended: recorded, but leftovers hold its pipes, a listener is behind, or something that was left behind lives. */
enum run_phase { RUN_RUNNING, RUN_ENDING, RUN_DRAINING, RUN_SETTLING, RUN_JOINING, RUN_ENDED };

enum { MOST_RUN_ID = 64, STDOUT = 0, STDERR = 1 };

struct stream {
  struct source source;  /* the pipe; fd is -1 once nobody holds its other end */
  struct run *run;
  int index;             /* STDOUT or STDERR */
  struct log *log;
  uint64_t bytes;
  unsigned full_reads;   /* in a row */
  int watch;             /* of its writes, see arrival.h; -1 where there is none */
  struct stream *next_watched;
  bool is_large, joined;
};

/* What a run was asked to be. Texts belong to whoever made it. */
struct run_terms {
  const char *id, *mark, *folder;
  struct start_request start;
  struct inherited inherited;
  enum input_kind input;
  const uint8_t *first_input;
  size_t first_input_length;
  bool input_ends, end_leftovers, bound;
  uint64_t wall_ms, idle_ms, grace_ms, log_bytes;
  uint64_t starter;
  bool makes_folder;                 /* with `files`, the fields of a START that has some */
  const struct frame *files;
};

struct run {
  struct run *next, *previous, *next_in_bucket, *next_forgotten;
  struct server *server;
  char id[MOST_RUN_ID + 1];
  char *mark;
  enum run_phase phase;
  bool held, kept, forgotten, reaped;
  struct tree_key key;
  int folder;
  struct stream streams[2];
  struct turns turns;
  struct order *order;
  struct input input;
  enum input_kind input_kind;
  bool pty, bound, end_leftovers;
  uint64_t starter;      /* id of the controller; 0 when it is gone */
  uint64_t wall_ms, idle_ms;
  int64_t grace_us, started_us, last_byte_us, over_us;
  struct timer wall, idle, order_flush;
  struct timer step;     /* of the phase */
  int64_t drain_until_us, quiet_since_us;
  bool after_ladder, waited_for_leftovers;
  bool late_done;        /* the totals in the record are the last ones */
  bool nothing_lives;    /* what was left behind was ended later */
  struct ladder ladder;
  struct listener *listeners;
  uint64_t memory_kills;
  bool knows_memory_kills;
  struct end_record record;
  char *json;            /* the end record, while listeners wait for it */
};

enum run_failure { RUN_STARTED, RUN_NOT_STARTED, RUN_NO_MEMORY };

struct run_refusal {
  const char *stage;
  int error;
};

/* RUN_NOT_STARTED sets *refusal. Nothing of the terms is referred to afterwards. */
enum run_failure run_start(struct server *server, const struct run_terms *terms, struct run **started, struct run_refusal *refusal);

/* Where a home keeps the folder of a run; false where that is longer than a path (PATH_MAX) may be. */
bool run_folder_name(const struct server *server, const char *id, char *path);

/* Also one that is merely kept. */
struct run *run_find(const struct server *server, const char *id);

/* Looks for the processes of the run, as tree_find. */
ssize_t run_processes(const struct run *run, struct process **found);
/* The same, but the usual end costs a look into one small file; nothing is found then. */
ssize_t run_survivors(const struct run *run, struct process **found);
size_t run_signal(const struct run *run, int signal);

/* Closes our end. */
void stream_close(struct stream *stream);
/* Reads what is in both pipes in this moment, without waiting for the loop. True where that was something. */
bool streams_read_now(struct run *run);

/* Frees logs, folder and timers: nothing is written any more. */
void run_release(struct run *run);
/* The oldest one that is kept makes room. */
void run_keep(struct run *run);
/* It is freed at the end of the turn. */
void run_forget(struct run *run);
void runs_free_forgotten(struct server *server);
/* Forgets those that are kept and of which nothing lives any more. */
void runs_prune(struct server *server);

#endif
