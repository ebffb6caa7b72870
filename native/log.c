/* The logs of a run on disk: docs/log-format.md. src/engine/output.ts writes the same. */
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fault.h"

enum { SEGMENTS = 8, RECENT = 8192, COPY_BUFFER = 64 * 1024, MAX_NAME = 400, MAX_MARKER = 160 };

/* A part of the tail, in a file of its own. */
struct segment {
  uint64_t offset, lines; /* where its first byte stands in the stream, and the line feeds before it */
  uint64_t bytes;
  int fd;
};

struct log {
  int folder, fd;
  int failure;
  uint64_t segment_bytes, head_bytes, max_bytes;
  uint64_t bytes, line_feeds; /* of the whole stream */
  uint64_t file_bytes;        /* in the log's own file, the marker included */
  /* The stream up to here stands at the beginning of the log's own file. */
  uint64_t head_kept, head_lines;
  struct segment segments[SEGMENTS + 1];
  size_t segment_count;
  uint64_t copied; /* of the first segment, behind the head, while joining */
  /* From here on to the end nothing was kept. */
  bool lost;
  uint64_t lost_offset, lost_lines;
  /* The gap that a marker in the file states (bytes is 0 where there is none), and what stands behind that marker. */
  struct log_gap hole;
  uint64_t tail_kept;
  /* Once a gap was to be stated: how long the line became that states it. */
  bool marked;
  uint64_t marker_bytes;
  bool joining, noted;
  struct log_gap note;
  uint8_t recent[RECENT]; /* a byte stands at its offset modulo the size */
  char name[];
};

/* ---- counting ---- */

typedef uint8_t lanes __attribute__((vector_size(16)));

/* Sixteen bytes at a time on any machine; a lane counts up to 255 before all are added up. */
static uint64_t count_line_feeds(const uint8_t *bytes, size_t length) {
  uint64_t count = 0;
  size_t at = 0;
  while (length - at >= sizeof(lanes)) {
    lanes found = {0}, some;
    size_t rounds = (length - at) / sizeof some;
    if (rounds > 255) rounds = 255;
    for (; rounds > 0; rounds--, at += sizeof some) {
      memcpy(&some, bytes + at, sizeof some);
      found -= (lanes)(some == '\n');
    }
    for (size_t i = 0; i < sizeof found; i++) count += found[i];
  }
  for (; at < length; at++) count += bytes[at] == '\n';
  return count;
}

/* ---- files ---- */

static void fail(struct log *log, int error) {
  if (log->failure == 0) log->failure = error;
}

/* Returns how many bytes the disk took. */
static size_t write_at(struct log *log, int fd, const uint8_t *bytes, size_t length, uint64_t position) {
  size_t done = 0;
  while (done < length) {
    ssize_t written = pwrite(fd, bytes + done, length - done, (off_t)(position + done));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      fail(log, written < 0 ? errno : EIO);
      break;
    }
    done += (size_t)written;
  }
  return done;
}

static int open_file(const struct log *log, const char *name) {
  return openat(log->folder, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

static void segment_name(const struct log *log, const struct segment *segment, char name[MAX_NAME + 64]) {
  snprintf(name, MAX_NAME + 64, "%s.%" PRIu64 ".%" PRIu64, log->name, segment->offset, segment->lines);
}

/* Drops the oldest `count` segments. */
static void drop(struct log *log, size_t count) {
  for (size_t i = 0; i < count; i++) {
    char name[MAX_NAME + 64];
    segment_name(log, &log->segments[i], name);
    close(log->segments[i].fd);
    (void)unlinkat(log->folder, name, 0); /* somebody may have been quicker */
    FAULT("segment-dropped", log->bytes);
  }
  log->segment_count -= count;
  memmove(log->segments, log->segments + count, log->segment_count * sizeof *log->segments);
}

/* ---- gaps ---- */

static const char *with_commas(uint64_t number, char text[32]) {
  char *at = text + 31;
  *at = 0;
  for (int digits = 0; number > 0 || digits == 0; digits++, number /= 10) {
    if (digits > 0 && digits % 3 == 0) *--at = ',';
    *--at = (char)('0' + number % 10);
  }
  return at;
}

static size_t format_marker(const struct log_gap *gap, char text[MAX_MARKER]) {
  char bytes[32], lines[32];
  int length = snprintf(text, MAX_MARKER, "\n[holdfast: %s bytes with %s line ends left out from offset %" PRIu64 "]\n",
                        with_commas(gap->bytes, bytes), with_commas(gap->lines, lines), gap->offset);
  return length > 0 ? (size_t)length : 0;
}

static bool has_gap(const struct log *log) {
  return log->hole.bytes == 0 && log->segment_count > 0 && log->segments[0].offset > log->head_kept;
}

/* The gap between head and tail; where nothing is missing there, what could not be written at the end. */
static struct log_gap find_gap(const struct log *log) {
  struct log_gap gap = log->hole;
  if (gap.bytes > 0) return gap;
  if (has_gap(log)) {
    gap.offset = log->head_kept;
    gap.bytes = log->segments[0].offset - log->head_kept;
    gap.lines = log->segments[0].lines - log->head_lines;
  } else if (log->lost && log->bytes > log->lost_offset) {
    gap.offset = log->lost_offset;
    gap.bytes = log->bytes - log->lost_offset;
    gap.lines = log->line_feeds - log->lost_lines;
  } else {
    return gap;
  }
  char text[MAX_MARKER];
  gap.marker_bytes = log->marked ? log->marker_bytes : format_marker(&gap, text);
  return gap;
}

void log_totals(const struct log *log, struct log_totals *totals) {
  bool unfinished = log->bytes > 0 && log->recent[(log->bytes - 1) % RECENT] != '\n';
  totals->bytes = log->bytes;
  totals->lines = log->line_feeds + unfinished;
  totals->gap = find_gap(log);
  totals->dropped_bytes = log->hole.bytes;
  if (has_gap(log)) totals->dropped_bytes += log->segments[0].offset - log->head_kept;
  if (log->lost) totals->dropped_bytes += log->bytes - log->lost_offset;
}

/* ---- writing ---- */

struct log *log_open(int folder_fd, const char *name, uint64_t max_bytes) {
  size_t length = strlen(name);
  struct log *log = length <= MAX_NAME ? calloc(1, sizeof *log + length + 1) : NULL;
  if (log == NULL) return NULL;
  memcpy(log->name, name, length);
  log->folder = folder_fd;
  log->fd = -1;
  log->max_bytes = max_bytes;
  log->segment_bytes = max_bytes / 2 / SEGMENTS;
  if (log->segment_bytes == 0) log->segment_bytes = 1;
  log->head_bytes = max_bytes > log->segment_bytes * SEGMENTS ? max_bytes - log->segment_bytes * SEGMENTS : 0;
  return log;
}

static void lose_from(struct log *log, uint64_t offset, uint64_t lines) {
  if (log->lost) return;
  log->lost = true;
  log->lost_offset = offset;
  log->lost_lines = lines;
}

/* Writes what comes next in the stream. */
static size_t store(struct log *log, int fd, const uint8_t *bytes, size_t length, uint64_t position) {
  size_t written = write_at(log, fd, bytes, length, position);
  if (written < length) lose_from(log, log->bytes + written, log->line_feeds + count_line_feeds(bytes, written));
  return written;
}

static size_t at_most(size_t length, uint64_t room) {
  return length < room ? length : (size_t)room;
}

static struct segment *next_segment(struct log *log) {
  struct segment *segment = &log->segments[log->segment_count];
  *segment = (struct segment){.offset = log->bytes, .lines = log->line_feeds};
  char name[MAX_NAME + 64];
  segment_name(log, segment, name);
  segment->fd = open_file(log, name);
  if (segment->fd < 0) {
    fail(log, errno);
    if (log->segment_count > 0) lose_from(log, log->bytes, log->line_feeds);
    else lose_from(log, log->head_kept, log->head_lines);
    return NULL;
  }
  log->segment_count++;
  FAULT("segment-made", log->bytes);
  /* With seven and a marker, joining needs no more room than the limit. */
  size_t allowed = has_gap(log) || log->segment_count > SEGMENTS ? SEGMENTS - 1 : SEGMENTS;
  if (log->segment_count > allowed) drop(log, log->segment_count - allowed);
  return &log->segments[log->segment_count - 1];
}

/* Behind the marker of a log that was joined already there is one file, and its limit. */
static size_t keep_behind_marker(struct log *log, const uint8_t *bytes, size_t length) {
  size_t part = at_most(length, log->max_bytes > log->file_bytes ? log->max_bytes - log->file_bytes : 0);
  if (part == 0) {
    lose_from(log, log->bytes, log->line_feeds);
    return length;
  }
  size_t written = store(log, log->fd, bytes, part, log->file_bytes);
  log->file_bytes += written;
  log->tail_kept += written;
  return part;
}

static size_t keep(struct log *log, const uint8_t *bytes, size_t length) {
  if (log->hole.bytes > 0) return keep_behind_marker(log, bytes, length);
  if (log->head_kept == log->bytes && log->head_kept < log->head_bytes) {
    size_t part = at_most(length, log->head_bytes - log->head_kept);
    size_t written = store(log, log->fd, bytes, part, log->file_bytes);
    log->file_bytes += written;
    log->head_kept += written;
    return part;
  }
  struct segment *segment = log->segment_count > 0 ? &log->segments[log->segment_count - 1] : NULL;
  if (segment == NULL || segment->bytes >= log->segment_bytes) segment = next_segment(log);
  if (segment == NULL) return length;
  size_t part = at_most(length, log->segment_bytes - segment->bytes);
  segment->bytes += store(log, segment->fd, bytes, part, segment->bytes);
  return part;
}

/* Of a piece that is larger than the whole tail only the end would stay: the rest is not written first. */
static size_t skip(struct log *log, size_t length) {
  if (log->hole.bytes > 0 || log->head_kept < log->head_bytes || length / SEGMENTS < log->segment_bytes) return 0;
  if (length <= log->segment_bytes * SEGMENTS) return 0;
  drop(log, log->segment_count);
  return length - (size_t)log->segment_bytes * (SEGMENTS - 1);
}

/* A byte stands in the ring at its offset in the stream, so that nothing else has to be remembered. */
static void remember(struct log *log, const uint8_t *bytes, size_t length) {
  uint64_t offset = log->bytes;
  if (length > RECENT) {
    offset += length - RECENT;
    bytes += length - RECENT;
    length = RECENT;
  }
  size_t at = (size_t)(offset % RECENT);
  size_t first = at_most(length, RECENT - at);
  memcpy(log->recent + at, bytes, first);
  memcpy(log->recent, bytes + first, length - first);
}

void log_write(struct log *log, const uint8_t *bytes, size_t length) {
  if (length == 0) return;
  while (log->joining) (void)log_join(log, SIZE_MAX);
  if (log->fd < 0 && log->failure == 0) {
    log->fd = open_file(log, log->name);
    if (log->fd < 0) fail(log, errno);
  }
  /* A disk that refused once would leave holes in the middle: from then on bytes are counted, not kept. */
  if (log->failure != 0) lose_from(log, log->bytes, log->line_feeds);
  remember(log, bytes, length);
  while (length > 0) {
    size_t taken = log->lost ? length : skip(log, length);
    if (taken == 0) taken = keep(log, bytes, length);
    log->line_feeds += count_line_feeds(bytes, taken);
    log->bytes += taken;
    if (log->head_kept == log->bytes) log->head_lines = log->line_feeds;
    bytes += taken;
    length -= taken;
  }
}

int log_failure(const struct log *log) {
  return log->failure;
}

size_t log_recent(const struct log *log, uint8_t room[RECENT]) {
  size_t length = at_most(RECENT, log->bytes);
  size_t at = (size_t)((log->bytes - length) % RECENT);
  size_t first = at_most(length, RECENT - at);
  memcpy(room, log->recent + at, first);
  memcpy(room + first, log->recent, length - first);
  return length;
}

/* ---- joining ---- */

static void note_name(const struct log *log, char name[MAX_NAME + 128]) {
  const struct log_gap *gap = &log->note;
  snprintf(name, MAX_NAME + 128, "%s.joining.%" PRIu64 ".%" PRIu64 ".%" PRIu64 ".%" PRIu64, log->name, gap->offset, gap->bytes,
           gap->lines, gap->marker_bytes);
}

static void remove_note(struct log *log) {
  char name[MAX_NAME + 128];
  if (!log->noted) return;
  note_name(log, name);
  (void)unlinkat(log->folder, name, 0);
  log->noted = false;
}

static void write_note(struct log *log, const struct log_gap *gap) {
  char name[MAX_NAME + 128];
  remove_note(log);
  log->note = gap->bytes > 0 ? *gap : (struct log_gap){0};
  note_name(log, name);
  int fd = open_file(log, name);
  /* Without it only a kill in this very moment leaves a log that cannot be told apart. */
  if (fd < 0) return;
  close(fd);
  log->noted = true;
}

/* True where someone removed the log while it was written: nothing of it is left that could be read. */
static bool is_gone(const struct log *log) {
  struct stat named, open;
  if (log->fd < 0 || fstat(log->fd, &open) != 0) return true;
  return fstatat(log->folder, log->name, &named, 0) != 0 || named.st_ino != open.st_ino || named.st_dev != open.st_dev;
}

static void close_all(struct log *log) {
  for (size_t i = 0; i < log->segment_count; i++) close(log->segments[i].fd);
  if (log->fd >= 0) close(log->fd);
  log->segment_count = 0;
  log->fd = -1;
}

static void give_up(struct log *log) {
  fail(log, ENOENT);
  close_all(log);
  log->hole = (struct log_gap){0};
  log->head_kept = log->head_lines = log->tail_kept = 0;
  log->lost = true;
  log->lost_offset = log->lost_lines = 0;
  log->marked = true;
  log->marker_bytes = 0;
}

/* States the gap at the end of the file. Of a line that does not fit nothing stays, so that it is not taken for output. */
static bool write_marker(struct log *log, const struct log_gap *gap) {
  char text[MAX_MARKER];
  size_t length = format_marker(gap, text);
  log->marked = true;
  if (write_at(log, log->fd, (const uint8_t *)text, length, log->file_bytes) < length) {
    log->marker_bytes = 0;
    (void)!ftruncate(log->fd, (off_t)log->file_bytes);
    return false;
  }
  log->marker_bytes = length;
  log->file_bytes += length;
  FAULT("gap-stated", log->bytes);
  return true;
}

/* Copies at most `length` bytes of the first segment. Returns how many, 0 after a failure. */
static size_t copy_some(struct log *log, size_t length) {
  const struct segment *segment = &log->segments[0];
  uint64_t left = segment->bytes - log->copied;
  if (length > left) length = (size_t)left;
  off_t from = (off_t)log->copied, to = (off_t)log->file_bytes;
  ssize_t copied = copy_file_range(segment->fd, &from, log->fd, &to, length, 0);
  if (copied > 0) return (size_t)copied;
  /* Not every file system can do that; where the disk is full, this finds out, too. */
  uint8_t buffer[COPY_BUFFER];
  ssize_t read = pread(segment->fd, buffer, at_most(length, sizeof buffer), (off_t)log->copied);
  if (read <= 0) {
    fail(log, read < 0 ? errno : EIO);
    return 0;
  }
  return write_at(log, log->fd, buffer, (size_t)read, log->file_bytes);
}

/* The first segment stands behind the head now, or behind the tail that stands there already. */
static void first_is_joined(struct log *log) {
  if (log->hole.bytes > 0) {
    log->tail_kept += log->segments[0].bytes;
  } else {
    uint64_t end_lines = log->lost ? log->lost_lines : log->line_feeds;
    log->head_kept += log->segments[0].bytes;
    log->head_lines = log->segment_count > 1 ? log->segments[1].lines : end_lines;
  }
  log->copied = 0;
  drop(log, 1);
}

/* False when the budget is used up. */
static bool join_segments(struct log *log, size_t budget) {
  while (log->segment_count > 0) {
    if (log->copied == log->segments[0].bytes) {
      first_is_joined(log);
      continue;
    }
    if (budget == 0) return false;
    size_t copied = copy_some(log, budget);
    /* A part that was copied before it failed does no harm: whoever reads takes the segment from where it begins. */
    log->copied += copied;
    log->file_bytes += copied;
    budget -= copied;
    FAULT("joining", log->bytes);
    if (log->failure != 0 && copied == 0) return true;
  }
  return true;
}

/* True where there is something to do. */
static bool begin_joining(struct log *log) {
  if (log->bytes == 0 || (log->fd < 0 && log->marked)) return false;
  if (is_gone(log)) {
    give_up(log);
    return false;
  }
  struct log_gap gap = find_gap(log);
  bool to_state = gap.bytes > 0 && !log->marked;
  if (log->segment_count == 0 && !to_state) return false;
  write_note(log, &gap);
  if (has_gap(log)) {
    if (!write_marker(log, &gap)) return false;
    log->hole = gap;
  }
  return true;
}

bool log_join(struct log *log, size_t budget) {
  if (!log->joining) log->joining = begin_joining(log);
  if (!log->joining) return true;
  if (!join_segments(log, budget)) return false;
  log->joining = false;
  struct log_gap gap = find_gap(log);
  if (gap.bytes == 0 || log->marked) return true;
  if (log->segment_count == 0) {
    (void)write_marker(log, &gap);
  } else {
    log->marked = true;
    log->marker_bytes = 0;
  }
  return true;
}

/* ---- reading ---- */

ssize_t log_read(struct log *log, uint64_t *offset, uint8_t *room, size_t length) {
  int fd = log->fd;
  uint64_t position = *offset, left;
  uint64_t tail = log->hole.offset + log->hole.bytes;
  if (*offset < log->head_kept) {
    left = log->head_kept - *offset;
  } else {
    if (log->hole.bytes > 0 && *offset < tail) *offset = tail;
    if (log->hole.bytes > 0 && *offset - tail < log->tail_kept) {
      position = *offset - log->hole.bytes + log->hole.marker_bytes;
      left = tail + log->tail_kept - *offset;
    } else {
      const struct segment *segment = log->segments, *end = log->segments + log->segment_count;
      while (segment < end && segment->offset + segment->bytes <= *offset) segment++;
      if (segment == end) {
        if (*offset < log->bytes) *offset = log->bytes;
        return 0;
      }
      if (*offset < segment->offset) *offset = segment->offset;
      fd = segment->fd;
      position = *offset - segment->offset;
      left = segment->bytes - position;
    }
  }
  ssize_t read;
  do read = pread(fd, room, at_most(length, left), (off_t)position);
  while (read < 0 && errno == EINTR);
  return read;
}

void log_free(struct log *log) {
  if (log == NULL) return;
  /* Up to now it told whoever reads what is what; by now the end record does. */
  if (!log->joining) remove_note(log);
  close_all(log);
  free(log);
}
