/* What controllers ask for. */
#ifndef HOLDFAST_REQUESTS_H
#define HOLDFAST_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "controller.h"
#include "frame.h"
#include "listener.h"
#include "run.h"

/* Answers one whole frame. */
void request_handle(struct controller *controller, const struct frame *frame);

enum { MOST_FIELD_KEY = 31 };

/* The last field of each key; `bytes` is NULL where there is none. */
struct fields {
  struct field by_key[MOST_FIELD_KEY + 1];
};

/* A request while it is answered. `wrong` is the field that is missing or impossible. */
struct request {
  struct controller *controller;
  const struct frame *frame;
  struct fields fields;
  const char *wrong;
};

/* These note a field that is wrong, under its name. */
uint64_t take_number(struct request *request, uint8_t key, const char *name, uint64_t absent, uint64_t lowest, uint64_t highest);
bool take_flag(struct request *request, uint8_t key, const char *name);
/* The id of a run, as text. */
bool take_run_id(struct request *request, char id[MOST_RUN_ID + 1]);
void take_listening(struct request *request, struct listening *listening);

void answer_invalid(struct request *request);

/* In request-start.c. */
void request_start(struct request *request);

#endif
