#include "arrival.h"

#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "run.h"

enum { MOST_TURNS = 4096 };

int arrivals_notes(void) {
  return inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
}

void arrivals_close(struct arrivals *arrivals) {
  if (arrivals->notes >= 0) close(arrivals->notes);
  arrivals->notes = -1;
}

static struct stream **bucket_of(struct arrivals *arrivals, int watch) {
  return &arrivals->buckets[(unsigned)watch % ARRIVAL_BUCKETS];
}

void arrivals_watch(struct arrivals *arrivals, struct stream *stream, int pipe) {
  char path[40];
  stream->watch = -1;
  if (arrivals->notes < 0) return;
  snprintf(path, sizeof path, "/proc/self/fd/%d", pipe);
  stream->watch = inotify_add_watch(arrivals->notes, path, IN_MODIFY);
  if (stream->watch < 0) return;
  struct stream **bucket = bucket_of(arrivals, stream->watch);
  stream->next_watched = *bucket;
  *bucket = stream;
}

void arrivals_unwatch(struct arrivals *arrivals, struct stream *stream) {
  if (stream->watch < 0) return;
  struct stream **link = bucket_of(arrivals, stream->watch);
  while (*link && *link != stream) link = &(*link)->next_watched;
  if (*link) *link = stream->next_watched;
  inotify_rm_watch(arrivals->notes, stream->watch);
  stream->watch = -1;
}

static unsigned last_turn(const struct turns *turns) {
  return turns->first ^ ((turns->count - 1) & 1U);
}

static void turns_add(struct turns *turns, unsigned stream) {
  if (turns->count == 0) *turns = (struct turns){.first = stream, .count = 1};
  else if (last_turn(turns) != stream && turns->count < MOST_TURNS) turns->count += 1;
}

static void forget_all_turns(struct arrivals *arrivals) {
  for (size_t at = 0; at < ARRIVAL_BUCKETS; at += 1)
    for (struct stream *stream = arrivals->buckets[at]; stream; stream = stream->next_watched) stream->run->turns.count = 0;
}

void arrivals_take(struct arrivals *arrivals) {
  /* A note of a file that is watched by itself has no name, so its size is fixed. */
  struct inotify_event notes[128];
  for (;;) {
    ssize_t got = arrivals->notes < 0 ? -1 : read(arrivals->notes, notes, sizeof notes);
    for (ssize_t at = 0; got > 0 && at < got / (ssize_t)sizeof *notes; at += 1) {
      if (notes[at].mask & IN_Q_OVERFLOW) forget_all_turns(arrivals);
      if (!(notes[at].mask & IN_MODIFY)) continue;
      struct stream *stream = *bucket_of(arrivals, notes[at].wd);
      while (stream && stream->watch != notes[at].wd) stream = stream->next_watched;
      if (stream) turns_add(&stream->run->turns, (unsigned)stream->index);
    }
    if (got < (ssize_t)sizeof notes) return;
  }
}

static bool has_turn(const struct turns *turns, unsigned stream) {
  return turns->count > 1 || (turns->count == 1 && turns->first == stream);
}

void turns_settle(struct turns *turns, const size_t waiting[2]) {
  for (unsigned stream = 0; stream < 2; stream += 1) {
    if (waiting[stream] > 0 || !has_turn(turns, stream)) continue;
    unsigned other = stream ^ 1U;
    bool keeps = has_turn(turns, other);
    *turns = (struct turns){.first = other, .count = keeps ? 1 : 0};
  }
}

static void drop_first(struct turns *turns) {
  turns->first ^= 1U;
  turns->count -= 1;
}

struct piece turns_next(struct turns *turns, const uint8_t *const rest[2], const size_t length[2]) {
  for (unsigned stream = 0; stream < 2; stream += 1)
    if (length[stream] > 0 && !has_turn(turns, stream)) return (struct piece){stream, length[stream]};
  /* The bytes of this turn are yet to be read, and those of the other stream behind it, too. */
  if (length[turns->first] == 0) return (struct piece){turns->first ^ 1U, length[turns->first ^ 1U]};
  unsigned stream = turns->first;
  struct piece piece = {stream, length[stream]};
  const uint8_t *line = turns->count > 2 ? memchr(rest[stream], '\n', length[stream]) : NULL;
  if (line) piece.length = (size_t)(line - rest[stream]) + 1;
  drop_first(turns);
  return piece;
}
