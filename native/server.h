/* The resident server: one thread, one loop over everything that can happen. */
#ifndef HOLDFAST_SERVER_H
#define HOLDFAST_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "arrival.h"
#include "children.h"
#include "memory.h"
#include "record.h"
#include "timers.h"

struct controller;
struct place;
struct run;

/* What the loop waits for. fd is -1 once it is closed: then it is not called any more, whatever the kernel still tells of it. */
struct source {
  int fd;
  void (*ready)(struct source *source, uint32_t events);
};

enum {
  READ_MOST = 256 * 1024,    /* per turn of the loop and descriptor, so that nobody starves */
  MOST_CONTROLLERS = 1024,   /* each command that is waited for has one */
  MOST_RUNS = 4096,          /* that are held */
  MOST_KEPT = 1024,          /* that are over and left something behind which holds no pipe */
  RUN_BUCKETS = 1024,
  MOST_LARGE_PIPES = 8       /* large pipes are taken from a quota of the user */
};

struct server {
  int epoll;
  pid_t self;
  /* The time of this turn of the loop. */
  int64_t now_us;
  struct timers timers;
  struct source signals, door;
  size_t descriptors;        /* that this process may have */
  int spare;                 /* given up to accept and refuse where no descriptor is left */
  struct children children;
  bool reaped_any;
  bool childless;            /* no process had this one as its parent when it was asked, in this turn, and none was started since */

  struct controller *controllers;
  size_t controller_count;
  uint64_t last_controller;

  struct run *runs;          /* all, newest first */
  struct run *buckets[RUN_BUCKETS];
  size_t held_count, kept_count;
  struct run *forgotten;     /* freed at the end of the turn */
  uint64_t next_tag;
  unsigned large_pipes;
  struct arrivals arrivals;
  struct memory_watch memory;

  struct unsaved_list unsaved;
  struct place *place;       /* NULL where it serves a stream */
  const char *home;          /* the folder that it serves, or NULL where that is not known */
  bool home_was_there;
  struct timer retry, idle, look;
  bool place_was_missed;     /* by the look of the turn before */
  bool unsaved_worth_staying;
  int64_t idle_us;
  bool stopping;             /* all runs are canceled */
  bool over;                 /* leaves the loop at the end of the turn */
  bool closing;              /* only says its last words */

  uint8_t room[READ_MOST];   /* for whoever reads something in this moment */
};

/* False with errno. The notes (see arrival.h) are closed with it. The place is NULL for a stream; place and home stay the caller's. The signals have to be blocked. */
bool server_open(struct server *server, struct place *place, const char *home, int notes, int64_t idle_us);
/* Takes the stream as the one controller. */
bool server_serve_stream(struct server *server, int in, int out);
/* Returns when it is time to end. */
void server_run(struct server *server);
void server_close(struct server *server);

/* For the parts of the server. */
bool server_watch(struct server *server, struct source *source, uint32_t events);
bool server_rewatch(struct server *server, struct source *source, uint32_t events);
void server_unwatch(struct server *server, struct source *source);
/* False where a descriptor with this number leaves too few to those who will need some: what runs has yet to open its logs. */
bool server_can_spare(const struct server *server, int fd);
/* A quick look, which reads one small file at most: true where it surely has no other children than the first processes of its runs and what
   is known to be left behind. False means "not known". */
bool server_has_no_stranger(const struct server *server);
/* Sets the timer so that it is due in the next turn of the loop, which does not wait. */
void server_soon(struct server *server, struct timer *timer);
void server_after(struct server *server, struct timer *timer, int64_t us);
/* Milliseconds as microseconds, up to a hundred years. */
int64_t ms_to_us(uint64_t ms);
/* Cancels everything and ends. Asked a second time, it no longer waits for the grace. */
void server_stop(struct server *server);
void server_save(struct server *server, struct run *run, const struct record_texts *texts);

#endif
