/* Listeners: live output for controllers, which never makes a command wait. */
#ifndef HOLDFAST_LISTENER_H
#define HOLDFAST_LISTENER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "timers.h"

struct controller;
struct run;
struct server;
struct stream;

enum listening_kind { LISTEN_NOTHING, LISTEN_EVERYTHING, LISTEN_TAIL };

struct listening {
  enum listening_kind kind;
  uint64_t window, every_ms;
  bool has_from[2];
  uint64_t from[2];
};

struct listener {
  struct listener *next;
  struct run *run;
  struct controller *controller;
  enum listening_kind kind;
  uint64_t window, left;     /* bytes that may be on the way, and how many of them are free */
  int64_t every_us;
  uint64_t sent[2];          /* where each stream goes on */
  int64_t not_before_us[2];  /* of the tail */
  bool finishing;            /* the run is over, and some output is still to be sent */
  uint64_t until[2];         /* then: where its output ends, whatever comes later */
  int64_t moved_us;          /* when that last went on */
  struct timer timer;
};

/* Replaces the listener that this controller has. False where memory is exhausted. */
bool listener_add(struct run *run, struct controller *controller, const struct listening *listening);
struct listener *listener_find(struct run *run, const struct controller *controller);
void listener_remove(struct listener *listener);
/* The bytes are in the log already. */
void listeners_output(struct stream *stream, const uint8_t *bytes, size_t length);
void listener_acknowledge(struct listener *listener, uint64_t bytes);
/* Says the end to all that listen; to who is behind and gives window back, once it has the rest. */
void listeners_end(struct run *run);
/* The controller is gone. */
void listeners_forget(struct server *server, struct controller *controller);
/* The controller takes more again. */
void listeners_go_on(struct server *server, struct controller *controller);

#endif
