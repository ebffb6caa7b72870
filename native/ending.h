/* How a run ends: the ladder of signals, the drain, what is left behind, the record. */
#ifndef HOLDFAST_ENDING_H
#define HOLDFAST_ENDING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "input.h"
#include "record.h"
#include "timers.h"

struct run;
struct stream;

enum { MOST_STOPPERS = 64 };

struct ladder {
  bool active, killing;
  struct timer timer;
  int64_t grace_until_us, kill_until_us, next_kill_us, look_after_us;
  struct asker *stoppers;  /* whoever waits for its end */
  size_t stopper_count;
};

/* The first process was waited for. */
void run_exited(struct run *run, int status, const struct rusage *usage);
/* Children were waited for: perhaps it was the last one of a run that is ending. */
void run_look_again(struct run *run);
/* Nobody holds the pipe of the stream any more. */
void run_stream_ended(struct run *run);
/* A limit, a lost controller, the end of the supervisor. */
void run_cut(struct run *run, enum cut cut, uint64_t after_ms, int signal, int64_t grace_us);

struct stop_request {
  enum cut cut;
  int signal;
  int64_t grace_us;
};

/* Stops what lives of the run. False where too many wait for that already. */
bool run_stop(struct run *run, const struct stop_request *request, const struct asker *asker);
/* The supervisor ends: reads what is there, and lets go of the pipes of a run that is over. */
void run_let_go(struct run *run);
/* Forgets the run where nothing keeps it any more. */
void run_settle(struct run *run);

#endif
