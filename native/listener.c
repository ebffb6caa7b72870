#include "listener.h"

#include <stdlib.h>

#include "controller.h"
#include "run.h"

enum { MOST_BYTES_PER_FRAME = 64 * 1024, TAIL_BYTES = 64 * 1024, SERVE_BYTES = 128 * 1024 /* of each stream, per turn */ };
/* Who is behind at the end, and gives nothing of its window back for so long, reads the rest in the logs. */
static const int64_t patience_us = 1000000;

static uint64_t least(uint64_t one, uint64_t other) {
  return one < other ? one : other;
}

/* Where the output ends that is to be sent. */
static uint64_t end_of(const struct listener *listener, int index) {
  return listener->finishing ? listener->until[index] : listener->run->streams[index].bytes;
}

static bool is_behind(const struct listener *listener, int index) {
  return listener->sent[index] < end_of(listener, index);
}

static bool is_behind_at_all(const struct listener *listener) {
  return is_behind(listener, STDOUT) || is_behind(listener, STDERR);
}

static bool may_send(const struct listener *listener) {
  return listener->left > 0 && controller_takes_output(listener->controller);
}

/* The bytes fit the window. */
static void send_frame(struct listener *listener, int index, uint64_t offset, const uint8_t *bytes, size_t length) {
  struct outbox *outbox = controller_answer(listener->controller, ANSWER_OUTPUT, 0);
  frame_add_text(outbox, 1, listener->run->id);
  frame_add_number(outbox, 2, (uint64_t)index + 1);
  frame_add_number(outbox, 3, offset);
  frame_add_bytes(outbox, 4, bytes, length);
  controller_send(listener->controller);
  listener->sent[index] = offset + length;
  listener->left -= length;
  listener->moved_us = listener->run->server->now_us;
}

/* As much as may be sent. `sent` is where the bytes begin. */
static void send_some(struct listener *listener, int index, const uint8_t *bytes, size_t length) {
  while (length > 0 && may_send(listener)) {
    size_t part = (size_t)least(least(length, MOST_BYTES_PER_FRAME), listener->left);
    send_frame(listener, index, listener->sent[index], bytes, part);
    bytes += part;
    length -= part;
  }
}

/* From the log, at most `most` bytes; what the log left out is passed over. */
static void send_logged(struct listener *listener, int index, size_t most) {
  struct stream *stream = &listener->run->streams[index];
  struct server *server = listener->run->server;
  while (most > 0 && is_behind(listener, index) && may_send(listener)) {
    uint64_t offset = listener->sent[index];
    size_t wanted = (size_t)least(least(most, MOST_BYTES_PER_FRAME), least(listener->left, end_of(listener, index) - offset));
    ssize_t got = log_read(stream->log, &offset, server->room, wanted);
    /* What the disk did not take is nowhere; and of what comes behind the end nothing is sent. */
    if (got <= 0 || offset >= end_of(listener, index)) {
      listener->sent[index] = end_of(listener, index);
      return;
    }
    if ((uint64_t)got > end_of(listener, index) - offset) got = (ssize_t)(end_of(listener, index) - offset);
    send_frame(listener, index, offset, server->room, (size_t)got);
    most -= (size_t)got;
  }
}

static void send_tail(struct listener *listener, int index) {
  const struct stream *stream = &listener->run->streams[index];
  uint64_t most = least(TAIL_BYTES, listener->left);
  if (!is_behind(listener, index) || !may_send(listener)) return;
  if (stream->bytes - listener->sent[index] > most) listener->sent[index] = stream->bytes - most;
  send_logged(listener, index, (size_t)most);
  listener->not_before_us[index] = listener->run->server->now_us + listener->every_us;
}

static void wait_for_next(struct listener *listener) {
  if (listener->kind != LISTEN_TAIL || !may_send(listener)) return;
  int64_t at_us = INT64_MAX;
  for (int index = 0; index < 2; index += 1)
    if (is_behind(listener, index) && listener->not_before_us[index] < at_us) at_us = listener->not_before_us[index];
  if (at_us == INT64_MAX) return;
  int64_t soonest_us = listener->run->server->now_us + 1;
  timer_set(&listener->run->server->timers, &listener->timer, at_us > soonest_us ? at_us : soonest_us);
}

static void say_end(struct listener *listener) {
  struct run *run = listener->run;
  struct outbox *outbox = controller_answer(listener->controller, ANSWER_ENDED, 0);
  frame_add_text(outbox, 1, run->id);
  frame_add_text(outbox, 2, run->json ? run->json : "");
  controller_send(listener->controller);
  listener_remove(listener);
}

static void go_on(struct listener *listener) {
  struct run *run = listener->run;
  struct server *server = run->server;
  if (listener->kind == LISTEN_TAIL) {
    for (int index = 0; index < 2; index += 1)
      if (listener->not_before_us[index] <= server->now_us) send_tail(listener, index);
    wait_for_next(listener);
    return;
  }
  for (int index = 0; index < 2; index += 1) send_logged(listener, index, SERVE_BYTES);
  if (is_behind_at_all(listener) && may_send(listener)) server_soon(server, &listener->timer);
  if (!listener->finishing) return;
  if (!is_behind_at_all(listener) || listener->window == 0 || server->now_us - listener->moved_us >= patience_us) {
    say_end(listener);
    run_settle(run);
  } else if (!listener->timer.is_set) {
    server_after(server, &listener->timer, listener->moved_us + patience_us - server->now_us);
  }
}

static void listener_due(struct timer *timer) {
  go_on(owner_of(timer, struct listener, timer));
}

void listeners_output(struct stream *stream, const uint8_t *bytes, size_t length) {
  int64_t now_us = stream->run->server->now_us;
  uint64_t offset = stream->bytes - length;
  for (struct listener *listener = stream->run->listeners; listener; listener = listener->next) {
    bool is_next = listener->sent[stream->index] == offset;
    if (listener->finishing) continue;
    if (listener->kind == LISTEN_EVERYTHING) {
      if (is_next) send_some(listener, stream->index, bytes, length);
      if (is_behind(listener, stream->index) && may_send(listener)) server_soon(stream->run->server, &listener->timer);
    } else if (listener->kind == LISTEN_TAIL) {
      bool is_due = listener->not_before_us[stream->index] <= now_us;
      if (is_due && is_next && length <= TAIL_BYTES && length <= listener->left) {
        send_some(listener, stream->index, bytes, length);
        listener->not_before_us[stream->index] = now_us + listener->every_us;
      } else if (is_due || !listener->timer.is_set) {
        wait_for_next(listener);
      }
    }
  }
}

void listener_acknowledge(struct listener *listener, uint64_t bytes) {
  uint64_t used = listener->window - listener->left;
  listener->left += least(bytes, used);
  listener->moved_us = listener->run->server->now_us;
  if (listener->kind == LISTEN_NOTHING || !is_behind_at_all(listener) || !may_send(listener)) return;
  if (listener->kind == LISTEN_TAIL) wait_for_next(listener);
  else server_soon(listener->run->server, &listener->timer);
}

struct listener *listener_find(struct run *run, const struct controller *controller) {
  struct listener *listener = run->listeners;
  while (listener && listener->controller != controller) listener = listener->next;
  return listener;
}

bool listener_add(struct run *run, struct controller *controller, const struct listening *listening) {
  struct listener *listener = calloc(1, sizeof *listener);
  if (!listener) return false;
  struct listener *old = listener_find(run, controller);
  if (old) listener_remove(old);
  listener->run = run;
  listener->controller = controller;
  listener->kind = listening->kind;
  listener->window = listener->left = listening->window;
  listener->every_us = ms_to_us(listening->every_ms);
  listener->timer.due = listener_due;
  listener->moved_us = run->server->now_us;
  for (int index = 0; index < 2; index += 1)
    listener->sent[index] = listening->has_from[index] ? least(listening->from[index], run->streams[index].bytes) : run->streams[index].bytes;
  listener->next = run->listeners;
  run->listeners = listener;
  if (listener->kind != LISTEN_NOTHING && is_behind_at_all(listener)) server_soon(run->server, &listener->timer);
  return true;
}

void listener_remove(struct listener *listener) {
  struct listener **link = &listener->run->listeners;
  while (*link != listener) link = &(*link)->next;
  *link = listener->next;
  timer_clear(&listener->run->server->timers, &listener->timer);
  free(listener);
}

void listeners_end(struct run *run) {
  for (struct listener *listener = run->listeners, *next; listener; listener = next) {
    next = listener->next;
    if (listener->kind == LISTEN_EVERYTHING) {
      for (int index = 0; index < 2; index += 1) listener->until[index] = run->streams[index].bytes;
      listener->finishing = true;
      listener->moved_us = run->server->now_us;
      go_on(listener);
      continue;
    }
    for (int index = 0; listener->kind == LISTEN_TAIL && index < 2; index += 1) send_tail(listener, index);
    say_end(listener);
  }
}

void listeners_forget(struct server *server, struct controller *controller) {
  for (struct run *run = server->runs, *next; run; run = next) {
    next = run->next;
    struct listener *listener = listener_find(run, controller);
    if (!listener) continue;
    listener_remove(listener);
    run_settle(run);
  }
}

void listeners_go_on(struct server *server, struct controller *controller) {
  for (struct run *run = server->runs, *next; run; run = next) {
    next = run->next;
    struct listener *listener = listener_find(run, controller);
    if (listener && listener->kind != LISTEN_NOTHING && is_behind_at_all(listener)) {
      listener->moved_us = server->now_us;
      server_soon(server, &listener->timer);
    }
  }
}
