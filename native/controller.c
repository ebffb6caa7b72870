#include "controller.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"
#include "listener.h"
#include "requests.h"
#include "run.h"

enum {
  USUAL_ROOM = 16 * 1024,
  LARGE_ROOM = 256 * 1024,              /* is given back when it is empty */
  SMALL_REST = 32 * 1024,
  MOST_WAITING = 64 * 1024 * 1024,      /* then it is closed */
  MOST_OUTPUT_WAITING = 1024 * 1024,
  MOST_PIECES_WAITING = 8 * 1024 * 1024, /* of files, which are read no further until some are taken */
  STARTS_PER_TURN = 4                   /* each takes milliseconds, in which nobody else is served; looks at processes are shared */
};
static const int64_t greeting_us = 10000000, last_words_us = 2000000, pieces_us = 2000, hold_us = 1500;

struct controller *controller_find(const struct server *server, uint64_t id) {
  struct controller *controller = id > 0 ? server->controllers : NULL;
  while (controller && (controller->id != id || controller->gone)) controller = controller->next;
  return controller;
}

/* ---- sending ---- */

struct outbox *controller_answer(struct controller *controller, uint8_t type, uint32_t tag) {
  frame_begin(&controller->outbox, type, tag);
  return &controller->outbox;
}

static size_t waiting(const struct controller *controller) {
  return controller->outbox.to - controller->outbox.from;
}

void controller_send(struct controller *controller) {
  if (!frame_end(&controller->outbox) || waiting(controller) > MOST_WAITING) controller->gone = true;
  timer_clear(&controller->server->timers, &controller->hold);
}

void controller_send_soon(struct controller *controller) {
  controller_send(controller);
  server_after(controller->server, &controller->hold, hold_us);
}

/* What waited is sent at the end of this turn. */
static void hold_due(struct timer *timer) {
  (void)timer;
}

void controller_error(struct controller *controller, uint32_t tag, const char *code, const char *message, const char *field) {
  struct outbox *outbox = controller_answer(controller, ANSWER_ERROR, tag);
  frame_add_text(outbox, 1, code);
  frame_add_text(outbox, 2, message);
  if (field) frame_add_text(outbox, 3, field);
  controller_send(controller);
}

bool controller_takes_output(const struct controller *controller) {
  if (controller->gone || controller->leaving) return false;
  if (waiting(controller) < MOST_OUTPUT_WAITING) return true;
  /* Where it goes on is found by flushing. */
  ((struct controller *)(uintptr_t)controller)->congested = true;
  return false;
}

/* Writes without blocking, whatever the descriptor is. Returns as write(2), EAGAIN included. */
static ssize_t write_some(const struct controller *controller, const uint8_t *bytes, size_t length) {
  if (controller->is_socket) return send(controller->out.fd, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (controller->never_blocks) return write(controller->out.fd, bytes, length);
  /* What is reported as writable takes at least this much. Its flags are shared with others, so they are left alone. */
  struct pollfd out = {.fd = controller->out.fd, .events = POLLOUT};
  int ready = poll(&out, 1, 0);
  if (ready <= 0) {
    if (ready == 0) errno = EAGAIN;
    return -1;
  }
  return write(controller->out.fd, bytes, length < PIPE_BUF ? length : PIPE_BUF);
}

static void watch_out(struct controller *controller, bool on) {
  struct server *server = controller->server;
  if (controller->watches_out == on) return;
  bool done;
  if (controller->out.fd == controller->in.fd) {
    uint32_t in = controller->leaving || controller->at_end ? 0 : EPOLLIN;
    done = server_rewatch(server, &controller->in, on ? in | EPOLLOUT : in);
  } else if (on) {
    done = server_watch(server, &controller->out, EPOLLOUT);
  } else {
    server_unwatch(server, &controller->out);
    done = true;
  }
  if (done) controller->watches_out = on;
  else controller->gone = true;
}

static void flush(struct controller *controller) {
  struct outbox *outbox = &controller->outbox;
  while (waiting(controller) > 0) {
    ssize_t sent = write_some(controller, outbox->bytes + outbox->from, waiting(controller));
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) break;
    if (sent <= 0) {
      controller->gone = true;
      return;
    }
    outbox_taken(outbox, (size_t)sent);
  }
  watch_out(controller, waiting(controller) > 0);
  if (controller->congested && waiting(controller) < MOST_OUTPUT_WAITING / 2) {
    controller->congested = false;
    listeners_go_on(controller->server, controller);
  }
  if (controller->leaving && waiting(controller) == 0) controller->gone = true;
}

/* ---- receiving ---- */

void controller_leave(struct controller *controller) {
  if (controller->leaving) return;
  controller->leaving = true;
  timer_clear(&controller->server->timers, &controller->more);
  server_after(controller->server, &controller->deadline, last_words_us);
}

static void deadline_due(struct timer *timer) {
  struct controller *controller = owner_of(timer, struct controller, deadline);
  controller->gone = true;
}

/* What a request carried, an environment for example, does not stay in memory. */
static void forget_bytes(struct controller *controller, size_t length) {
  explicit_bzero(controller->bytes + controller->from, length);
  controller->from += length;
  if (controller->from == controller->to) controller->from = controller->to = 0;
}

static bool set_room(struct controller *controller, size_t room) {
  size_t length = controller->to - controller->from;
  uint8_t *bytes = malloc(room);
  if (!bytes) return false;
  if (length > 0) memcpy(bytes, controller->bytes + controller->from, length);
  if (controller->bytes) explicit_bzero(controller->bytes, controller->to);
  free(controller->bytes);
  controller->bytes = bytes;
  controller->room = room;
  controller->from = 0;
  controller->to = length;
  return true;
}

/* How long the frame is that has begun, as far as that is known. */
static size_t begun_length(const struct controller *controller) {
  size_t length = controller->to - controller->from, whole;
  return frame_length(controller->bytes + controller->from, length, &whole) ? whole : FRAME_HEADER;
}

/* Room for the rest of the frame that has begun. */
static bool make_room(struct controller *controller) {
  size_t length = controller->to - controller->from;
  if (length == 0 && controller->room > LARGE_ROOM) return set_room(controller, USUAL_ROOM);
  size_t needed = length > 0 ? begun_length(controller) : FRAME_HEADER;
  if (controller->room - controller->from >= needed) return true;
  if (controller->room >= needed) {
    memmove(controller->bytes, controller->bytes + controller->from, length);
    explicit_bzero(controller->bytes + length, controller->to - length);
    controller->from = 0;
    controller->to = length;
    return true;
  }
  size_t room = USUAL_ROOM;
  while (room < needed) room *= 2;
  return set_room(controller, room);
}

/* Handles the frames that are there. */
static void handle_frames(struct controller *controller) {
  int starts = 0;
  while (!controller->leaving && !controller->gone) {
    struct frame frame;
    size_t taken;
    enum frame_state state = frame_parse(controller->bytes + controller->from, controller->to - controller->from, &frame, &taken);
    if (state == FRAME_INCOMPLETE) break;
    if (state == FRAME_TOO_LARGE || state == FRAME_BAD_HEADER) {
      if (state == FRAME_TOO_LARGE) controller_error(controller, frame.tag, "too_large", "the payload is longer than 4,194,304 bytes", NULL);
      else controller_error(controller, frame.tag, "malformed", "this is no header of a frame", NULL);
      controller_leave(controller);
      return;
    }
    if (frame.type == FRAME_START && starts++ == STARTS_PER_TURN) {
      server_soon(controller->server, &controller->more);
      return;
    }
    if (frame.type == FRAME_FILE_READ && waiting(controller) > MOST_PIECES_WAITING) {
      server_after(controller->server, &controller->more, pieces_us);
      return;
    }
    request_handle(controller, &frame);
    if (files_go_on(controller->files)) {
      server_soon(controller->server, &controller->more);
      return;
    }
    forget_bytes(controller, taken);
  }
  if (controller->at_end) controller->gone = true;
}

static void more_due(struct timer *timer) {
  handle_frames(owner_of(timer, struct controller, more));
}

static ssize_t read_some(struct controller *controller) {
  uint8_t *room = controller->bytes + controller->to;
  size_t length = controller->room - controller->to;
  size_t missing = controller->to > controller->from ? begun_length(controller) - (controller->to - controller->from) : 0;
  /* What is read beyond a large frame would have to be moved to the front. */
  if (missing > SMALL_REST) length = missing;
  if (length > READ_MOST) length = READ_MOST;
  return controller->is_socket ? recv(controller->in.fd, room, length, MSG_DONTWAIT) : read(controller->in.fd, room, length);
}

/* Nothing is read while frames wait for the next turn. */
static void receive(struct controller *controller) {
  if (controller->more.is_set || controller->leaving || controller->at_end) return;
  if (!make_room(controller)) {
    controller->gone = true;
    return;
  }
  ssize_t got = read_some(controller);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got > 0) controller->to += (size_t)got;
  else controller->at_end = true;
  handle_frames(controller);
}

static void in_ready(struct source *source, uint32_t events) {
  struct controller *controller = owner_of(source, struct controller, in);
  if (events & EPOLLOUT) flush(controller);
  if (!controller->leaving && (events & ~(uint32_t)EPOLLOUT)) receive(controller);
  else if (events & (EPOLLERR | EPOLLHUP)) controller->gone = true;
}

static void out_ready(struct source *source, uint32_t events) {
  (void)events;
  flush(owner_of(source, struct controller, out));
}

/* ---- coming and going ---- */

static struct controller *controller_make(struct server *server, int in, int out) {
  struct controller *controller = calloc(1, sizeof *controller);
  if (!controller) {
    close(in);
    if (out != in) close(out);
    return NULL;
  }
  controller->server = server;
  controller->id = ++server->last_controller;
  controller->in = (struct source){.fd = in, .ready = in_ready};
  controller->out = (struct source){.fd = out, .ready = out_ready};
  controller->deadline.due = deadline_due;
  controller->more.due = more_due;
  controller->hold.due = hold_due;
  controller->next = server->controllers;
  if (controller->next) controller->next->previous = controller;
  server->controllers = controller;
  server->controller_count += 1;
  server_after(server, &controller->deadline, greeting_us);
  return controller;
}

void controller_open_socket(struct server *server, int fd, const char *refusal) {
  struct controller *controller = controller_make(server, fd, fd);
  if (!controller) return;
  controller->is_socket = true;
  if (!server_watch(server, &controller->in, refusal ? 0 : EPOLLIN)) controller->gone = true;
  if (!refusal) return;
  controller_error(controller, 0, refusal, "this supervisor does not take the connection", NULL);
  controller_leave(controller);
}

/* The same pipe or terminal by a description of our own, whose flags nobody shares; -1 where it has no name. */
static int open_again(int fd, int flags) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  return open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

bool controller_open_stream(struct server *server, int in, int out) {
  struct stat found;
  bool is_socket = fstat(in, &found) == 0 && S_ISSOCK(found.st_mode) && fstat(out, &found) == 0 && S_ISSOCK(found.st_mode);
  int own = is_socket ? -1 : open_again(out, O_WRONLY);
  if (own >= 0) {
    close(out);
    out = own;
  }
  struct controller *controller = controller_make(server, in, out);
  if (!controller) return false;
  controller->is_socket = is_socket;
  controller->never_blocks = own >= 0;
  return server_watch(server, &controller->in, EPOLLIN);
}

/* Nobody will end what it fed, and what is bound to it is canceled. */
static void leave_runs(struct controller *controller) {
  struct server *server = controller->server;
  listeners_forget(server, controller);
  for (struct run *run = server->runs, *next; run; run = next) {
    next = run->next;
    if (run->starter != controller->id) continue;
    run->starter = 0;
    if (run->input_kind == INPUT_FED) input_end(run);
    if (run->bound) run_cut(run, CUT_CANCELED, 0, SIGTERM, run->grace_us);
  }
}

static void controller_close(struct controller *controller) {
  struct server *server = controller->server;
  controller->gone = true;
  if (controller->next) controller->next->previous = controller->previous;
  if (controller->previous) controller->previous->next = controller->next;
  else server->controllers = controller->next;
  server->controller_count -= 1;
  leave_runs(controller);
  files_close(controller->files);
  timer_clear(&server->timers, &controller->deadline);
  timer_clear(&server->timers, &controller->more);
  timer_clear(&server->timers, &controller->hold);
  close(controller->in.fd);
  if (controller->out.fd != controller->in.fd) close(controller->out.fd);
  if (controller->bytes) explicit_bzero(controller->bytes, controller->to);
  free(controller->bytes);
  outbox_free(&controller->outbox);
  free(controller);
}

/* True where that may have given others something to say. */
static bool close_gone(struct server *server) {
  bool any = false;
  for (struct controller *controller = server->controllers, *next; controller; controller = next) {
    next = controller->next;
    if (!controller->gone) continue;
    any = true;
    controller_close(controller);
  }
  return any;
}

void controllers_flush(struct server *server) {
  do {
    for (struct controller *controller = server->controllers; controller; controller = controller->next)
      if (!controller->gone && !controller->watches_out && !controller->hold.is_set && (waiting(controller) > 0 || controller->leaving)) flush(controller);
  } while (close_gone(server));
}

bool controllers_are_there(const struct server *server) {
  const struct controller *controller = server->controllers;
  while (controller && controller->gone) controller = controller->next;
  return controller != NULL;
}

bool controllers_have_waiting(const struct server *server) {
  const struct controller *controller = server->controllers;
  while (controller && waiting(controller) == 0) controller = controller->next;
  return controller != NULL;
}

void controllers_close_all(struct server *server) {
  while (server->controllers) controller_close(server->controllers);
}
