#include "requests.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "build.h"
#include "fault.h"
#include "files.h"
#include "folders.h"

enum { PROTOCOL_VERSION = 1, MOST_SIGNAL = 64, MOST_INPUT_BYTES = 64 * 1024, MOST_LISTED = 16384, MOST_SIZE = 65535 };

/* ---- fields ---- */

/* False where they do not add up. */
static bool read_fields(const struct frame *frame, struct fields *fields) {
  struct field field;
  size_t at = 0;
  int step;
  while ((step = field_next(frame, &at, &field)) > 0)
    if (field.key <= MOST_FIELD_KEY) fields->by_key[field.key] = field;
  return step == 0;
}

static void *note_wrong(struct request *request, const char *name) {
  if (!request->wrong) request->wrong = name;
  return NULL;
}

uint64_t take_number(struct request *request, uint8_t key, const char *name, uint64_t absent, uint64_t lowest, uint64_t highest) {
  const struct field *field = &request->fields.by_key[key];
  uint64_t number = absent;
  if (!field->bytes) return absent;
  if (!field_number(field, &number) || number < lowest || number > highest) note_wrong(request, name);
  return number;
}

bool take_flag(struct request *request, uint8_t key, const char *name) {
  return take_number(request, key, name, 0, 0, 1) == 1;
}

static bool is_id(const uint8_t *bytes, size_t length) {
  if (length == 0 || length > MOST_RUN_ID) return false;
  for (size_t at = 0; at < length; at += 1) {
    uint8_t byte = bytes[at];
    bool letter = (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z');
    if (!letter && !(byte >= '0' && byte <= '9') && byte != '_' && byte != '-') return false;
  }
  return true;
}

bool take_run_id(struct request *request, char id[MOST_RUN_ID + 1]) {
  const struct field *field = &request->fields.by_key[1];
  id[0] = '\0';
  if (!field->bytes || !is_id(field->bytes, field->length)) {
    note_wrong(request, "run");
    return false;
  }
  memcpy(id, field->bytes, field->length);
  id[field->length] = '\0';
  return true;
}

void take_listening(struct request *request, struct listening *listening) {
  listening->kind = (enum listening_kind)take_number(request, 18, "listen", LISTEN_NOTHING, LISTEN_NOTHING, LISTEN_TAIL);
  listening->window = take_number(request, 19, "window", 1024 * 1024, 0, UINT64_MAX);
  listening->every_ms = take_number(request, 20, "every", 50, 0, UINT64_MAX);
  struct field field;
  size_t at = 0;
  int index = 0;
  while (field_next(request->frame, &at, &field) > 0) {
    if (field.key != 21 || index == 2) continue;
    if (!field_number(&field, &listening->from[index])) note_wrong(request, "offset");
    listening->has_from[index++] = true;
  }
}

/* ---- answers ---- */

void answer_invalid(struct request *request) {
  controller_error(request->controller, request->frame->tag, "invalid", "a field is missing or impossible", request->wrong);
}

static void answer_ok(struct request *request) {
  controller_answer(request->controller, ANSWER_OK, request->frame->tag);
  controller_send(request->controller);
}

static void answer_done(struct request *request, const struct run *run, size_t count) {
  struct outbox *outbox = controller_answer(request->controller, ANSWER_DONE, request->frame->tag);
  frame_add_text(outbox, 1, run->id);
  frame_add_number(outbox, 2, count);
  controller_send(request->controller);
}

static uint64_t state_of(const struct run *run) {
  if (run->phase == RUN_RUNNING) return 1;
  return run->phase == RUN_ENDED ? 3 : 2;
}

static void answer_status(struct request *request, const struct run *run) {
  int64_t now_us = run->server->now_us, until_us = run->over_us > 0 ? run->over_us : now_us;
  char identity[40];
  process_identity(run->key.start, identity);
  struct outbox *outbox = controller_answer(request->controller, ANSWER_STATUS, request->frame->tag);
  frame_add_text(outbox, 1, run->id);
  frame_add_number(outbox, 2, state_of(run));
  frame_add_number(outbox, 3, (uint64_t)run->key.leader);
  frame_add_text(outbox, 4, identity);
  frame_add_number(outbox, 5, (uint64_t)(until_us - run->started_us) / 1000);
  for (int index = 0; index < 2; index += 1) {
    struct log_totals totals;
    log_totals(run->streams[index].log, &totals);
    frame_add_number(outbox, (uint8_t)(6 + 2 * index), totals.bytes);
    frame_add_number(outbox, (uint8_t)(7 + 2 * index), totals.lines);
  }
  frame_add_number(outbox, 10, (uint64_t)(now_us - run->last_byte_us) / 1000);
  frame_add_number(outbox, 11, input_takes(&run->input));
  controller_send(request->controller);
}

/* ---- runs ---- */

enum reach { HELD, HELD_OR_KEPT };

/* NULL where it was answered already. What is merely kept is over for all but those who want its processes. */
static struct run *require_run(struct request *request, enum reach reach) {
  char id[MOST_RUN_ID + 1];
  if (!take_run_id(request, id) || request->wrong) {
    answer_invalid(request);
    return NULL;
  }
  struct run *run = run_find(request->controller->server, id);
  if (run && (run->held || reach == HELD_OR_KEPT)) return run;
  controller_error(request->controller, request->frame->tag, "no_such_run", "this supervisor holds no such run", "run");
  return NULL;
}

static void request_watch(struct request *request) {
  struct listening listening = {0};
  take_listening(request, &listening);
  struct run *run = require_run(request, HELD);
  if (!run) return;
  /* Who is told that it is over reads the rest in its folder. */
  if (run->phase != RUN_ENDED && !listener_add(run, request->controller, &listening)) {
    controller_error(request->controller, request->frame->tag, "exhausted", "no memory for another listener", NULL);
    return;
  }
  answer_status(request, run);
}

static void request_unwatch(struct request *request) {
  struct run *run = require_run(request, HELD_OR_KEPT);
  if (!run) return;
  struct listener *listener = listener_find(run, request->controller);
  if (listener) listener_remove(listener);
  run_settle(run);
  answer_ok(request);
}

static void request_input(struct request *request) {
  const struct field *bytes = &request->fields.by_key[2];
  if (!bytes->bytes || bytes->length > MOST_INPUT_BYTES) note_wrong(request, "bytes");
  struct run *run = require_run(request, HELD);
  if (!run) return;
  const struct asker asker = {request->controller->id, request->frame->tag};
  enum input_answer answer = input_add(run, &asker, bytes->bytes, bytes->length);
  if (answer == INPUT_CLOSED) controller_error(request->controller, asker.tag, "input_closed", "the standard input was ended", NULL);
  if (answer == INPUT_FULL) controller_error(request->controller, asker.tag, "input_full", "1 MiB of input waits for the command already", NULL);
  if (answer == INPUT_NO_MEMORY) controller_error(request->controller, asker.tag, "exhausted", "no memory for more input", NULL);
}

static void request_end_input(struct request *request) {
  struct run *run = require_run(request, HELD);
  if (!run) return;
  input_end(run);
  answer_ok(request);
}

static void request_signal(struct request *request) {
  uint64_t signal = take_number(request, 2, "signal", 0, 1, MOST_SIGNAL);
  if (signal == 0) note_wrong(request, "signal");
  struct run *run = require_run(request, HELD_OR_KEPT);
  if (run) answer_done(request, run, run_signal(run, (int)signal));
}

static void request_stop(struct request *request) {
  uint64_t cause = take_number(request, 2, "cause", CUT_CANCELED, CUT_CANCELED, CUT_IDLE);
  uint64_t signal = take_number(request, 3, "signal", SIGTERM, 1, MOST_SIGNAL);
  uint64_t grace_ms = take_number(request, 4, "grace", UINT64_MAX, 0, UINT64_MAX);
  struct run *run = require_run(request, HELD_OR_KEPT);
  if (!run) return;
  FAULT("stop-asked", 0);
  const struct asker asker = {request->controller->id, request->frame->tag};
  const struct stop_request stop = {
    .cut = (enum cut)cause,
    .signal = (int)signal,
    .grace_us = grace_ms == UINT64_MAX ? run->grace_us : ms_to_us(grace_ms),
  };
  if (!run_stop(run, &stop, &asker)) controller_error(request->controller, asker.tag, "exhausted", "too many wait for the end of this run", NULL);
}

static void request_status(struct request *request) {
  struct run *run = require_run(request, HELD);
  if (run) answer_status(request, run);
}

static void add_process(struct outbox *outbox, const struct process *process) {
  char identity[40], text[192];
  process_identity(process->start, identity);
  snprintf(text, sizeof text, "%ld %s %llu %d %s", (long)process->pid, identity, (unsigned long long)process_age_ms(process), process_busy(process),
           process->name);
  frame_add_text(outbox, 2, text);
}

static void request_tree(struct request *request) {
  struct run *run = require_run(request, HELD_OR_KEPT);
  if (!run) return;
  struct process *found;
  ssize_t count = run_processes(run, &found);
  struct outbox *outbox = controller_answer(request->controller, ANSWER_PROCESSES, request->frame->tag);
  for (ssize_t at = 0; at < count && at < MOST_LISTED; at += 1) add_process(outbox, &found[at]);
  controller_send(request->controller);
  free(found);
}

static void request_runs(struct request *request) {
  struct server *server = request->controller->server;
  runs_prune(server);
  struct outbox *outbox = controller_answer(request->controller, ANSWER_RUNS, request->frame->tag);
  for (const struct run *run = server->runs; run; run = run->next)
    if (run->held) frame_add_text(outbox, 1, run->id);
  controller_send(request->controller);
}

static void request_resize(struct request *request) {
  uint64_t rows = take_number(request, 9, "rows", 0, 1, MOST_SIZE), columns = take_number(request, 10, "columns", 0, 1, MOST_SIZE);
  if (rows == 0) note_wrong(request, "rows");
  if (columns == 0) note_wrong(request, "columns");
  struct run *run = require_run(request, HELD);
  if (!run) return;
  const struct stream *terminal = &run->streams[STDOUT];
  if (!run->pty) {
    request->wrong = "run";
    answer_invalid(request);
    return;
  }
  if (terminal->source.fd >= 0) pty_resize(terminal->source.fd, (uint16_t)rows, (uint16_t)columns);
  answer_ok(request);
}

static void request_acknowledge(struct request *request) {
  uint64_t bytes = take_number(request, 2, "bytes", 0, 0, UINT64_MAX);
  char id[MOST_RUN_ID + 1];
  if (!take_run_id(request, id) || request->wrong) {
    answer_invalid(request);
    return;
  }
  /* The run may be over by now. */
  struct run *run = run_find(request->controller->server, id);
  struct listener *listener = run ? listener_find(run, request->controller) : NULL;
  if (listener) listener_acknowledge(listener, bytes);
}

static void request_forget(struct request *request) {
  char id[MOST_RUN_ID + 1], path[PATH_MAX];
  const struct server *server = request->controller->server;
  if (!take_run_id(request, id) || request->wrong) {
    answer_invalid(request);
    return;
  }
  const struct run *run = run_find(server, id);
  if (run && run->held) {
    controller_error(request->controller, request->frame->tag, "busy", "this run is not over yet", "run");
    return;
  }
  if (!server->home || !run_folder_name(server, id, path)) {
    controller_error(request->controller, request->frame->tag, "no_such_run", "this supervisor has no home", "run");
    return;
  }
  if (folder_remove(path)) answer_ok(request);
  else controller_error(request->controller, request->frame->tag, "exhausted", strerror(errno), NULL);
}

/* ---- the connection ---- */

static void request_hello(struct request *request) {
  struct controller *controller = request->controller;
  if (!request->fields.by_key[1].bytes) note_wrong(request, "lowest");
  if (!request->fields.by_key[2].bytes) note_wrong(request, "highest");
  uint64_t lowest = take_number(request, 1, "lowest", 0, 0, UINT64_MAX), highest = take_number(request, 2, "highest", 0, 0, UINT64_MAX);
  if (request->wrong) {
    answer_invalid(request);
    return;
  }
  if (lowest > PROTOCOL_VERSION || highest < PROTOCOL_VERSION) {
    controller_error(controller, request->frame->tag, "unsupported_version", "this supervisor speaks version 1", NULL);
    controller_leave(controller);
    return;
  }
  struct process self;
  char identity[40];
  process_identity(process_read(controller->server->self, &self) ? self.start : 0, identity);
  controller->greeted = true;
  timer_clear(&controller->server->timers, &controller->deadline);
  struct outbox *outbox = controller_answer(controller, ANSWER_WELCOME, request->frame->tag);
  frame_add_number(outbox, 1, PROTOCOL_VERSION);
  frame_add_number(outbox, 2, (uint64_t)controller->server->self);
  frame_add_text(outbox, 3, identity);
  frame_add_text(outbox, 4, HOLDFAST_BUILD);
  if (controller->server->home) frame_add_text(outbox, 5, controller->server->home);
  controller_send(controller);
  FAULT("hello-answered", 0);
}

static void request_quit(struct request *request) {
  struct server *server = request->controller->server;
  if (server->held_count > 0) {
    controller_error(request->controller, request->frame->tag, "busy", "runs are not over yet", NULL);
    return;
  }
  answer_ok(request);
  server->over = true;
}

static void (*const handlers[])(struct request *) = {
  [FRAME_HELLO] = request_hello,   [FRAME_START] = request_start,       [FRAME_WATCH] = request_watch,   [FRAME_UNWATCH] = request_unwatch,
  [FRAME_INPUT] = request_input,   [FRAME_END_INPUT] = request_end_input, [FRAME_SIGNAL] = request_signal, [FRAME_STOP] = request_stop,
  [FRAME_STATUS] = request_status, [FRAME_TREE] = request_tree,         [FRAME_RUNS] = request_runs,     [FRAME_RESIZE] = request_resize,
  [FRAME_ACK] = request_acknowledge, [FRAME_PING] = answer_ok,          [FRAME_QUIT] = request_quit,
  [FRAME_FORGET] = request_forget, [FRAME_FILE_LOOK] = request_file,    [FRAME_FILE_LIST] = request_file, [FRAME_FILE_OPEN] = request_file,
  [FRAME_FILE_READ] = request_file, [FRAME_FILE_CLOSE] = request_file,  [FRAME_FILE_STAGE] = request_file, [FRAME_FILE_FILL] = request_file,
  [FRAME_FILE_COMMIT] = request_file, [FRAME_FILE_MKDIR] = request_file, [FRAME_FILE_REMOVE] = request_file, [FRAME_FILE_MOVE] = request_file,
  [FRAME_FILE_HASH] = request_file,
};

void request_handle(struct controller *controller, const struct frame *frame) {
  struct request request = {.controller = controller, .frame = frame};
  if (!controller->greeted && frame->type != FRAME_HELLO) {
    controller_error(controller, frame->tag, "malformed", "the first frame has to be HELLO", NULL);
    controller_leave(controller);
    return;
  }
  if (!read_fields(frame, &request.fields)) {
    controller_error(controller, frame->tag, "malformed", "the fields do not add up", NULL);
    /* Who greets like that has no common version with us. */
    if (!controller->greeted) controller_leave(controller);
    return;
  }
  if (frame->type >= sizeof handlers / sizeof *handlers || !handlers[frame->type]) {
    controller_error(controller, frame->tag, "unknown_type", "there is no request of this type", NULL);
    return;
  }
  handlers[frame->type](&request);
}
