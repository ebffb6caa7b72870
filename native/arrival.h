/* In which order both streams of a run were written to. A pipe does not tell when something was written to it, and a quick command has
   written to both before anybody looks; but the kernel notes each write (inotify(7)), in one queue for all pipes. Writes in a row to the
   same pipe are one note. Where the kernel takes no such notes, the order is the one in which the pipes are read. */
#ifndef HOLDFAST_ARRIVAL_H
#define HOLDFAST_ARRIVAL_H

#include <stddef.h>
#include <stdint.h>

struct stream;

enum { ARRIVAL_BUCKETS = 1024 };

struct arrivals {
  int notes;                               /* -1 where there are none */
  struct stream *buckets[ARRIVAL_BUCKETS]; /* streams by the number of their watch */
};

/* Turns of the streams that were noted and not read yet: they alternate, so the first one and their number say all. */
struct turns {
  unsigned first, count;
};

/* A descriptor of notes; -1 where the kernel takes none. */
int arrivals_notes(void);
void arrivals_close(struct arrivals *arrivals);
/* Of the pipe that the stream will read. Does nothing where there are no notes. */
void arrivals_watch(struct arrivals *arrivals, struct stream *stream, int pipe);
void arrivals_unwatch(struct arrivals *arrivals, struct stream *stream);
/* Adds what was noted since to the turns of the runs. */
void arrivals_take(struct arrivals *arrivals);

/* So many bytes wait in the pipes now: a turn that was noted before and has none of them is over. */
void turns_settle(struct turns *turns, const size_t waiting[2]);

struct piece {
  unsigned stream;
  size_t length;
};

/* Which piece of the rest of both streams comes next, by the turns that were noted; takes the turn away. A rest that no turn tells of was
   noted earlier, and comes first. A turn that is followed by another one of its stream is taken as one line, because commands mostly write
   line by line; the last one has all the rest. Some byte has to be left. */
struct piece turns_next(struct turns *turns, const uint8_t *const rest[2], const size_t length[2]);

#endif
