#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "errno-name.h"
#include "fault.h"

enum { MOST_UNSAVED = 256, RECENT_BYTES = 8192, SURE_BYTES = 4096 /* of a file that has any: the least that a disk gives */ };
static const int64_t worth_staying_us = INT64_C(600) * 1000000;

void record_leftovers(struct end_record *record, const struct process *processes, size_t count) {
  free(record->leftovers);
  if (count > MOST_LEFTOVERS) count = MOST_LEFTOVERS;
  record->leftovers = count > 0 ? calloc(count, sizeof *record->leftovers) : NULL;
  record->leftover_count = record->leftovers ? count : 0;
  for (size_t at = 0; at < record->leftover_count; at += 1) {
    struct leftover *leftover = &record->leftovers[at];
    leftover->pid = processes[at].pid;
    leftover->start = processes[at].start;
    leftover->age_ms = process_age_ms(&processes[at]);
    memcpy(leftover->name, processes[at].name, sizeof leftover->name);
  }
}

/* Length of the UTF-8 character that begins here, 0 where there is none. */
static size_t character_length(const unsigned char *text) {
  size_t length = text[0] < 0x80 ? 1 : text[0] >= 0xc2 && text[0] < 0xe0 ? 2 : (text[0] & 0xf0) == 0xe0 ? 3 : text[0] >= 0xf0 && text[0] < 0xf5 ? 4 : 0;
  for (size_t at = 1; at < length; at += 1)
    if ((text[at] & 0xc0) != 0x80) return 0;
  if (length == 3 && ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] >= 0xa0))) return 0;
  if (length == 4 && ((text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] >= 0x90))) return 0;
  return length;
}

/* A process may give itself any bytes as its name. */
static void put_text(FILE *out, const char *text) {
  fputc('"', out);
  for (const unsigned char *at = (const unsigned char *)text; *at != '\0';) {
    size_t length = character_length(at);
    if (length == 0) fputs("\\ufffd", out);
    else if (*at == '"' || *at == '\\') fprintf(out, "\\%c", *at);
    else if (*at < 0x20) fprintf(out, "\\u%04x", *at);
    else fwrite(at, 1, length, out);
    at += length > 0 ? length : 1;
  }
  fputc('"', out);
}

static void put_base64(FILE *out, const uint8_t *bytes, size_t length) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t at = 0; at < length; at += 3) {
    uint32_t three = (uint32_t)bytes[at] << 16;
    if (at + 1 < length) three |= (uint32_t)bytes[at + 1] << 8;
    if (at + 2 < length) three |= bytes[at + 2];
    fputc(digits[three >> 18], out);
    fputc(digits[three >> 12 & 63], out);
    fputc(at + 1 < length ? digits[three >> 6 & 63] : '=', out);
    fputc(at + 2 < length ? digits[three & 63] : '=', out);
  }
}

static void put_cut(FILE *out, const struct end_record *record) {
  if (record->cut == CUT_NONE) fputs("null", out);
  else if (record->cut == CUT_CANCELED) fputs("{\"kind\":\"canceled\"}", out);
  else fprintf(out, "{\"kind\":\"timed_out\",\"limit\":\"%s\",\"afterMs\":%" PRIu64 "}", record->cut == CUT_WALL ? "wall" : "idle", record->after_ms);
}

static void put_status(FILE *out, const struct end_record *record) {
  if (record->has_status && WIFEXITED(record->status)) fprintf(out, "\"exitCode\":%d,\"signal\":null", WEXITSTATUS(record->status));
  else if (record->has_status && WIFSIGNALED(record->status)) fprintf(out, "\"exitCode\":null,\"signal\":%d", WTERMSIG(record->status));
  else fputs("\"exitCode\":null,\"signal\":null", out);
}

static void put_ms(FILE *out, const char *name, int64_t us) {
  if (us < 0) us = 0;
  fprintf(out, ",\"%s\":%" PRId64 ".%" PRId64, name, us / 1000, us % 1000 / 100);
}

static void put_moment(FILE *out, int64_t ms) {
  time_t seconds = (time_t)(ms / 1000);
  struct tm utc;
  char text[32];
  if (!gmtime_r(&seconds, &utc) || strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc) == 0) strcpy(text, "1970-01-01T00:00:00");
  fprintf(out, ",\"endedAt\":\"%s.%03dZ\"", text, (int)(ms % 1000));
}

static void put_totals(FILE *out, const char *name, const struct log *log) {
  struct log_totals totals;
  log_totals(log, &totals);
  fprintf(out, ",\"%s\":{\"bytes\":%" PRIu64 ",\"lines\":%" PRIu64 ",\"droppedBytes\":%" PRIu64 ",\"gap\":", name, totals.bytes, totals.lines,
          totals.dropped_bytes);
  const struct log_gap *gap = &totals.gap;
  if (gap->bytes == 0) fputs("null}", out);
  else
    fprintf(out, "{\"offset\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"lines\":%" PRIu64 ",\"markerBytes\":%" PRIu64 "}}", gap->offset, gap->bytes, gap->lines,
            gap->marker_bytes);
}

static void put_leftovers(FILE *out, const struct end_record *record) {
  fputs(",\"leftovers\":[", out);
  for (size_t at = 0; at < record->leftover_count; at += 1) {
    const struct leftover *leftover = &record->leftovers[at];
    char identity[40];
    process_identity(leftover->start, identity);
    fprintf(out, "%s{\"pid\":%ld,\"startTime\":\"%s\",\"name\":", at > 0 ? "," : "", (long)leftover->pid, identity);
    put_text(out, leftover->name);
    fprintf(out, ",\"ageMs\":%" PRIu64 "}", leftover->age_ms);
  }
  fputc(']', out);
}

static void put_failures(FILE *out, const struct log *const logs[2], bool brief) {
  static const char *const names[] = {"stdout", "stderr"};
  const char *separator = "";
  fputs(",\"failures\":[", out);
  for (int at = 0; at < 2; at += 1) {
    int error = log_failure(logs[at]);
    if (error == 0) continue;
    fprintf(out, "%s{\"stream\":\"%s\",\"errno\":\"%s\"}", separator, names[at], errno_name(error));
    separator = ",";
  }
  fputc(']', out);
  if (separator[0] == '\0' || brief) return;
  separator = "";
  fputs(",\"unsaved\":{", out);
  for (int at = 0; at < 2; at += 1) {
    uint8_t recent[RECENT_BYTES];
    if (log_failure(logs[at]) == 0) continue;
    fprintf(out, "%s\"%s\":\"", separator, names[at]);
    put_base64(out, recent, log_recent(logs[at], recent));
    fputc('"', out);
    separator = ",";
  }
  fputc('}', out);
}

char *record_json(const struct end_record *record, const char *run, const struct log *out, const struct log *err, bool brief) {
  char *text = NULL;
  size_t length;
  FILE *stream = open_memstream(&text, &length);
  if (!stream) return NULL;
  fprintf(stream, "{\"version\":1,\"run\":\"%s\",\"cut\":", run);
  put_cut(stream, record);
  fputc(',', stream);
  put_status(stream, record);
  put_ms(stream, "durationMs", record->duration_us);
  put_ms(stream, "userMs", record->user_us);
  put_ms(stream, "systemMs", record->system_us);
  fprintf(stream, ",\"peakMemoryBytes\":%" PRIu64, record->peak_bytes);
  put_moment(stream, record->ended_at_ms);
  put_totals(stream, "stdout", out);
  put_totals(stream, "stderr", err);
  put_leftovers(stream, record);
  if (record->knows_oom_kills) fprintf(stream, ",\"oomKills\":%" PRIu64, record->oom_kills);
  fprintf(stream, ",\"confirmed\":%s", record->confirmed ? "true" : "false");
  put_failures(stream, (const struct log *const[]){out, err}, brief);
  fprintf(stream, ",\"late\":%s}", record->late ? "true" : "false");
  bool failed = ferror(stream) != 0;
  if (fclose(stream) != 0 || failed) {
    free(text);
    return NULL;
  }
  return text;
}

static bool write_whole(int file, const char *text, size_t length) {
  while (length > 0) {
    ssize_t written = write(file, text, length);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      if (written == 0) errno = EIO;
      return false;
    }
    text += written;
    length -= (size_t)written;
  }
  return true;
}

/* The text and a line feed. Nearly always it is one call. */
static bool write_line(int file, const char *text) {
  size_t length = strlen(text);
  const struct iovec parts[] = {{(char *)(uintptr_t)text, length}, {(char *)(uintptr_t)"\n", 1}};
  ssize_t written = writev(file, parts, 2);
  if (written == (ssize_t)length + 1) return true;
  size_t done = written > 0 ? (size_t)written : 0;
  if (done > length) done = length;
  return write_whole(file, text + done, length - done) && write_whole(file, "\n", 1);
}

bool record_write(int folder, const char *name, const char *text) {
  char sibling[64];
  snprintf(sibling, sizeof sibling, "%s.new", name);
  int file = openat(folder, sibling, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return false;
  bool whole = write_line(file, text);
  int error = errno;
  close(file);
  FAULT(name[0] == 'e' ? "end-drafted" : "process-drafted", 0);
  if (whole && renameat(folder, sibling, folder, name) == 0) {
    FAULT(name[0] == 'e' ? "end-written" : "process-noted", 0);
    return true;
  }
  if (whole) error = errno;
  unlinkat(folder, sibling, 0);
  errno = error;
  return false;
}

void record_process(int folder, pid_t pid, uint64_t start) {
  char identity[40], text[128];
  process_identity(start, identity);
  snprintf(text, sizeof text, "{\"pid\":%ld,\"startTime\":\"%s\"}", (long)pid, identity);
  (void)record_write(folder, "process.json", text);
}

/* Where nothing was left behind nobody asks for the first process any more, and its file becomes that of the end. It is there already,
   and so is its place on the disk: to make another one can take longer than the command did. */
static bool record_become(int folder, const char *text) {
  int file = openat(folder, "process.json", O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return false;
  bool whole = write_line(file, text);
  close(file);
  FAULT("end-drafted", 0);
  if (!whole || renameat(folder, "process.json", folder, "end.json") != 0) return false;
  FAULT("end-written", 0);
  return true;
}

static void unsaved_drop(struct unsaved_list *list, struct unsaved **link) {
  struct unsaved *unsaved = *link;
  *link = unsaved->next;
  list->count -= 1;
  close(unsaved->folder);
  free(unsaved->json);
  free(unsaved);
}

/* In a folder that somebody removed nothing can be written any more. */
static bool is_removed(int folder) {
  struct stat found;
  return fstat(folder, &found) == 0 && found.st_nlink == 0;
}

static void keep_unsaved(struct unsaved_list *list, int folder, const char *run, const char *json, int64_t now_us) {
  struct unsaved *unsaved = calloc(1, sizeof *unsaved);
  if (!unsaved) return;
  unsaved->folder = fcntl(folder, F_DUPFD_CLOEXEC, 3);
  unsaved->json = strdup(json);
  unsaved->since_us = now_us;
  snprintf(unsaved->run, sizeof unsaved->run, "%s", run);
  if (unsaved->folder < 0 || !unsaved->json) {
    if (unsaved->folder >= 0) close(unsaved->folder);
    free(unsaved->json);
    free(unsaved);
    return;
  }
  struct unsaved **link = &list->first;
  while (*link) link = &(*link)->next;
  *link = unsaved;
  list->count += 1;
  if (list->count > MOST_UNSAVED) unsaved_drop(list, &list->first);
}

void record_save(struct unsaved_list *list, int folder, const char *run, const struct record_texts *texts, bool alone, int64_t now_us) {
  /* An older record of the same run must not replace this one later. */
  for (struct unsaved **link = &list->first; *link;) {
    if (strcmp((*link)->run, run) == 0) unsaved_drop(list, link);
    else link = &(*link)->next;
  }
  bool fits = strlen(texts->json) < SURE_BYTES;
  if ((alone && fits && record_become(folder, texts->json)) || record_write(folder, "end.json", texts->json) || is_removed(folder)) return;
  /* A full disk still takes what needs no more room than the file that is there. */
  if (texts->brief && !(alone && record_become(folder, texts->brief))) (void)record_write(folder, "end.json", texts->brief);
  keep_unsaved(list, folder, run, texts->json, now_us);
}

bool unsaved_retry(struct unsaved_list *list, int64_t now_us) {
  bool worth_staying = false;
  for (struct unsaved **link = &list->first; *link;) {
    struct unsaved *unsaved = *link;
    if (record_write(unsaved->folder, "end.json", unsaved->json) || is_removed(unsaved->folder)) {
      unsaved_drop(list, link);
      continue;
    }
    if (now_us - unsaved->since_us < worth_staying_us) worth_staying = true;
    link = &unsaved->next;
  }
  return worth_staying;
}

void unsaved_free(struct unsaved_list *list) {
  while (list->first) unsaved_drop(list, &list->first);
}
