/* START: a request to start a command, checked and made into the terms of a run. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "errno-name.h"
#include "fault.h"
#include "requests.h"

enum { MOST_MARK = 256, MOST_SIZE = 65535, NICE_ZERO = 20, NICE_MOST = 39, MASK_MOST = 0777 };

/* Copies of all texts, each with a NUL, in one piece of memory: the environment holds secrets and is wiped with it. */
struct texts {
  char *bytes;
  size_t used, room;
  char **argv, **envp;
  size_t argc, envc;
};

static bool texts_open(struct texts *texts, const struct request *request) {
  struct field field;
  size_t at = 0, arguments = 0, variables = 0;
  while (field_next(request->frame, &at, &field) > 0) {
    arguments += field.key == 2;
    variables += field.key == 3;
  }
  /* Each field has a header of its own, which is longer than a NUL. */
  texts->room = request->frame->length + 1;
  texts->bytes = malloc(texts->room);
  texts->argv = calloc(arguments + 1, sizeof *texts->argv);
  texts->envp = calloc(variables + 1, sizeof *texts->envp);
  return texts->bytes && texts->argv && texts->envp;
}

static void texts_close(struct texts *texts) {
  if (texts->bytes) explicit_bzero(texts->bytes, texts->used);
  free(texts->bytes);
  free(texts->argv);
  free(texts->envp);
}

/* NULL where a NUL is inside, which no command could get. */
static char *copy_text(struct texts *texts, const struct field *field) {
  if (memchr(field->bytes, '\0', field->length)) return NULL;
  char *text = texts->bytes + texts->used;
  memcpy(text, field->bytes, field->length);
  text[field->length] = '\0';
  texts->used += field->length + 1;
  return text;
}

static void wrong(struct request *request, const char *name) {
  if (!request->wrong) request->wrong = name;
}

static void take_arguments(struct request *request, struct texts *texts) {
  struct field field;
  size_t at = 0;
  while (field_next(request->frame, &at, &field) > 0) {
    if (field.key != 2 && field.key != 3) continue;
    char *text = copy_text(texts, &field);
    if (field.key == 2) texts->argv[texts->argc++] = text;
    else texts->envp[texts->envc++] = text;
    if (!text) wrong(request, field.key == 2 ? "argument" : "environment");
    else if (field.key == 3 && (text[0] == '=' || !strchr(text, '='))) wrong(request, "environment");
  }
  if (texts->argc == 0 || !texts->argv[0] || texts->argv[0][0] == '\0') wrong(request, "argument");
}

static const char *take_path(struct request *request, struct texts *texts, uint8_t key, const char *name) {
  const struct field *field = &request->fields.by_key[key];
  const char *path = field->bytes ? copy_text(texts, field) : NULL;
  if (path && path[0] == '/') return path;
  wrong(request, name);
  return NULL;
}

static const char *take_mark(struct request *request, struct texts *texts, const char *id) {
  const struct field *field = &request->fields.by_key[22];
  if (!field->bytes) return id;
  const char *mark = field->length > 0 && field->length <= MOST_MARK ? copy_text(texts, field) : NULL;
  if (!mark || strchr(mark, '/')) wrong(request, "mark");
  return mark;
}

static void take_terminal(struct request *request, struct start_request *start) {
  start->rows = (uint16_t)take_number(request, 9, "rows", 0, 1, MOST_SIZE);
  start->columns = (uint16_t)take_number(request, 10, "columns", 0, 1, MOST_SIZE);
  start->pty = start->rows > 0 && start->columns > 0;
  if ((start->rows > 0) != (start->columns > 0)) wrong(request, start->rows > 0 ? "columns" : "rows");
}

static void take_inherited(struct request *request, struct inherited *inherited) {
  struct field field;
  size_t at = 0;
  *inherited = inherited_usually;
  inherited->mask = (mode_t)take_number(request, 23, "mask", inherited->mask, 0, MASK_MOST);
  inherited->nice = (int)take_number(request, 25, "nice", (uint64_t)(inherited->nice + NICE_ZERO), 0, NICE_MOST) - NICE_ZERO;
  if (!request->fields.by_key[24].bytes) return;
  while (field_next(request->frame, &at, &field) > 0)
    if (field.key == 24 && !inherited_set_limit(inherited, (const char *)field.bytes, field.length)) wrong(request, "limit");
}

static void take_terms(struct request *request, struct texts *texts, const char *id, struct run_terms *terms) {
  const struct field *input = &request->fields.by_key[7];
  take_arguments(request, texts);
  terms->id = id;
  terms->mark = take_mark(request, texts, id);
  terms->folder = take_path(request, texts, 5, "folder");
  terms->start.argv = texts->argv;
  terms->start.envp = texts->envp;
  terms->start.cwd = take_path(request, texts, 4, "cwd");
  take_terminal(request, &terms->start);
  take_inherited(request, &terms->inherited);
  terms->start.inherited = &terms->inherited;
  terms->input = (enum input_kind)take_number(request, 6, "stdin", INPUT_NONE, INPUT_NONE, INPUT_OPEN);
  terms->start.wants_input = terms->input != INPUT_NONE;
  terms->first_input = input->bytes;
  terms->first_input_length = terms->input == INPUT_NONE ? 0 : input->length;
  terms->input_ends = take_flag(request, 8, "inputEnds");
  terms->wall_ms = take_number(request, 11, "wall", 0, 0, UINT64_MAX);
  terms->idle_ms = take_number(request, 12, "idle", 0, 0, UINT64_MAX);
  terms->grace_ms = take_number(request, 13, "grace", 5000, 0, UINT64_MAX);
  terms->log_bytes = take_number(request, 14, "logBytes", 64 * 1024 * 1024, 1, INT64_MAX);
  terms->end_leftovers = take_flag(request, 15, "endLeftovers");
  terms->bound = take_flag(request, 16, "bound");
  terms->starter = request->controller->id;
  terms->makes_folder = take_flag(request, 26, "makesFolder");
  terms->files = request->fields.by_key[28].bytes ? request->frame : NULL;
}

static void answer_failed(const struct request *request, const char *id, const struct run_refusal *refusal) {
  struct outbox *outbox = controller_answer(request->controller, ANSWER_FAILED, request->frame->tag);
  frame_add_text(outbox, 1, id);
  frame_add_text(outbox, 2, refusal->stage);
  frame_add_number(outbox, 3, (uint64_t)refusal->error);
  frame_add_text(outbox, 4, errno_name(refusal->error));
  controller_send(request->controller);
}

static void answer_started(const struct request *request, struct run *run, const struct listening *listening) {
  char identity[40];
  process_identity(run->key.start, identity);
  struct outbox *outbox = controller_answer(request->controller, ANSWER_STARTED, request->frame->tag);
  frame_add_text(outbox, 1, run->id);
  frame_add_number(outbox, 2, (uint64_t)run->key.leader);
  frame_add_text(outbox, 3, identity);
  /* Many a command is over at once; who has input for it waits for this answer. */
  if (input_takes(&run->input)) controller_send(request->controller);
  else controller_send_soon(request->controller);
  FAULT("started-told", 0);
  /* Who could not be told of the end would wait for ever. */
  if (!listener_add(run, request->controller, listening)) request->controller->gone = true;
}

static void start(struct request *request, const struct run_terms *terms, const struct listening *listening) {
  struct controller *controller = request->controller;
  struct run *run;
  struct run_refusal refusal;
  switch (run_start(controller->server, terms, &run, &refusal)) {
    case RUN_STARTED: answer_started(request, run, listening); break;
    case RUN_NOT_STARTED: answer_failed(request, terms->id, &refusal); break;
    case RUN_NO_MEMORY: controller_error(controller, request->frame->tag, "exhausted", "no memory for another run", NULL); break;
  }
}

/* The code of the reason not to start anything, or NULL. */
static const char *find_refusal(const struct server *server, const char *id) {
  if (server->stopping || server->over || server->closing) return "busy";
  if (run_find(server, id)) return "already_exists";
  return server->held_count >= MOST_RUNS ? "exhausted" : NULL;
}

void request_start(struct request *request) {
  char id[MOST_RUN_ID + 1];
  struct texts texts = {0};
  struct run_terms terms = {0};
  struct listening listening = {.has_from = {true, true}};
  take_run_id(request, id);
  if (!texts_open(&texts, request)) {
    controller_error(request->controller, request->frame->tag, "exhausted", "no memory for the command", NULL);
    texts_close(&texts);
    return;
  }
  take_terms(request, &texts, id, &terms);
  take_listening(request, &listening);
  FAULT("start-parsed", 0);
  const char *refusal = find_refusal(request->controller->server, id);
  if (request->wrong) answer_invalid(request);
  else if (refusal) controller_error(request->controller, request->frame->tag, refusal, "this supervisor does not start the run", "run");
  else start(request, &terms, &listening);
  texts_close(&texts);
}
