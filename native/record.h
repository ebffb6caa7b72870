/* What is recorded of a run: `process.json` and `end.json`, see docs/supervisor-protocol.md, "The end record". */
#ifndef HOLDFAST_RECORD_H
#define HOLDFAST_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "log.h"
#include "tree.h"

enum cut { CUT_NONE, CUT_CANCELED, CUT_WALL, CUT_IDLE };

struct leftover {
  pid_t pid;
  uint64_t start, age_ms;
  char name[64];
};

struct end_record {
  enum cut cut;
  uint64_t after_ms;     /* of a limit */
  bool has_status;
  int status;            /* as of wait4(2) */
  int64_t duration_us, user_us, system_us;
  uint64_t peak_bytes;
  int64_t ended_at_ms;   /* since the epoch */
  struct leftover *leftovers;
  size_t leftover_count;
  bool confirmed, late;
  bool knows_oom_kills;
  uint64_t oom_kills;    /* while it ran, in the control group of the supervisor */
};

/* At most so many are named. */
enum { MOST_LEFTOVERS = 1000 };

/* Replaces the leftovers. Where memory is exhausted there are none. */
void record_leftovers(struct end_record *record, const struct process *processes, size_t count);

/* The one line of end.json without its line feed, malloc; NULL where memory is exhausted. `brief`: without the bytes that no log took. */
char *record_json(const struct end_record *record, const char *run, const struct log *out, const struct log *err, bool brief);

/* Writes a sibling and renames it. False with errno. */
bool record_write(int folder, const char *name, const char *text);

/* Best effort: whoever reads it manages without. */
void record_process(int folder, pid_t pid, uint64_t start);

/* End records that no disk took so far. */
struct unsaved {
  struct unsaved *next;
  int folder;
  int64_t since_us;
  char *json;
  char run[65];
};

struct unsaved_list {
  struct unsaved *first;
  size_t count;
};

struct record_texts {
  const char *json;
  const char *brief;     /* to be written where there is no room for that; NULL where it is the same */
};

/* Writes end.json, or keeps it to try again; at most 256 of them. `alone`: nothing was left behind. */
void record_save(struct unsaved_list *list, int folder, const char *run, const struct record_texts *texts, bool alone, int64_t now_us);
/* Tries all again. True while there is one that is younger than ten minutes: so long it is worth to stay for them. */
bool unsaved_retry(struct unsaved_list *list, int64_t now_us);
void unsaved_free(struct unsaved_list *list);

#endif
