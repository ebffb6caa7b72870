/* The logs of a run on disk: docs/log-format.md. */
#ifndef HOLDFAST_LOG_H
#define HOLDFAST_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct log_gap {
  uint64_t offset, bytes, lines, marker_bytes; /* bytes is 0 where there is none */
};

struct log_totals {
  uint64_t bytes, lines, dropped_bytes;
  struct log_gap gap; /* the one that an end now would leave */
};

struct log;

/* A log `NAME` in the folder that `folder_fd` is open on; the descriptor is the caller's and must stay open. No file is made before
   the first byte comes. NULL only where memory is exhausted. */
struct log *log_open(int folder_fd, const char *name, uint64_t max_bytes);

/* Never fails: what cannot be written is counted, see log_failure. */
void log_write(struct log *log, const uint8_t *bytes, size_t length);

void log_totals(const struct log *log, struct log_totals *totals);

/* The errno that kept bytes from being written, or 0. ENOENT also where the file was removed meanwhile (looked at by log_join). */
int log_failure(const struct log *log);

/* The last bytes that came, at most 8 KiB, into `room`; returns how many. */
size_t log_recent(const struct log *log, uint8_t room[8192]);

/* Puts the segments behind the head, at most about `budget` bytes a call. True when that is finished (at once where there are
   none) or has failed. Afterwards totals().gap is final; a log_write after it appends and may begin segments anew. What says on
   disk where the gap is goes with log_free: record the totals before. */
bool log_join(struct log *log, size_t budget);

/* Reads what is on disk from *offset on. Moves *offset forward over bytes that were left out. Returns the number of bytes (0: nothing
   there yet) or -1 with errno. */
ssize_t log_read(struct log *log, uint64_t *offset, uint8_t *room, size_t length);

/* Closes what is open, without joining. */
void log_free(struct log *log);

/* The order of arrival of both streams of a run (order.c). NULL only where memory is exhausted. */
struct order;
struct order *order_open(int folder_fd, const char *name);
/* stream: 1 or 2. Pieces of one stream in a row are one piece. No file is made before both streams came. */
void order_add(struct order *order, int stream, uint64_t bytes);
/* Writes out what is complete so far; order_finish also the last piece, after which more may be added. */
void order_flush(struct order *order);
void order_finish(struct order *order);
void order_free(struct order *order);

#endif
