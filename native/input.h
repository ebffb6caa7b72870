/* The standard input of a run: what was given waits in a queue until the command takes it. */
#ifndef HOLDFAST_INPUT_H
#define HOLDFAST_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server.h"

/* Whom to tell, if it is still there. */
struct asker {
  uint64_t controller;
  uint32_t tag;
};

enum input_kind { INPUT_NONE, INPUT_FED, INPUT_OPEN };
enum input_answer { INPUT_ADDED, INPUT_CLOSED, INPUT_FULL, INPUT_NO_MEMORY };

enum { MOST_INPUT_WAITING = 1024 * 1024 };

struct input {
  struct source source;   /* the pipe, or the pseudo-terminal */
  struct input_piece *first, *last;
  size_t waiting;
  bool ends;              /* nothing may be added any more */
  bool broken;            /* nobody reads it any more */
  bool watched;
  bool pty, line_is_open; /* something was typed behind the last line feed */
};

void input_open(struct input *input, int fd, bool pty);
/* Bytes that are there from the beginning may be more than may wait later. Without an asker (NULL) nobody is told. */
enum input_answer input_add(struct run *run, const struct asker *asker, const uint8_t *bytes, size_t length);
/* What waits is still delivered. */
void input_end(struct run *run);
/* Nothing is delivered any more: the run is over. */
void input_close(struct run *run);
/* Whether it may be written to. */
bool input_takes(const struct input *input);

#endif
