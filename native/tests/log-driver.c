/* Drives log.c and order.c for src/engine/log-format.test.ts; no part of the supervisor. Reads commands on standard input, one a line,
   and answers with one line where something is asked for:

     folder PATH              everything below is in this folder
     open SLOT NAME MAX       a log, in slot 0 to 3
     write SLOT LENGTH        so many bytes follow the line feed
     totals SLOT              BYTES LINES DROPPED OFFSET BYTES LINES MARKERBYTES ERRNO
     recent SLOT              bytes in hex, behind a dot
     join SLOT BUDGET         1 when that is finished, else 0
     read SLOT OFFSET LENGTH  the offset, and bytes in hex, behind a dot
     free SLOT
     remove NAME              a file of the folder
     obstacle NAME            makes a folder of that name in it
     die                      ends at once, as when it was killed
     order NAME | add STREAM BYTES | flush | finish | close
     limit BYTES              no file may become longer; 0: any may */
#include "../log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SLOTS = 4 };

static struct log *logs[SLOTS];
static struct order *order;
static int folder = -1;

static void stop(const char *why, const char *line) {
  fprintf(stderr, "log-driver: %s: %s\n", why, line);
  exit(2);
}

static struct log *log_in(const char *line) {
  int slot = -1;
  if (sscanf(line, "%*s %d", &slot) != 1 || slot < 0 || slot >= SLOTS || logs[slot] == NULL) stop("no such log", line);
  return logs[slot];
}

static void print_hex(const uint8_t *bytes, size_t length) {
  static const char digits[] = "0123456789abcdef";
  putchar('.');
  for (size_t i = 0; i < length; i++) {
    putchar(digits[bytes[i] >> 4]);
    putchar(digits[bytes[i] & 15]);
  }
  putchar('\n');
}

static uint8_t *allocate(size_t length, const char *line) {
  /* Exactly as long as said, so that a sanitizer sees each step beyond. */
  uint8_t *bytes = malloc(length > 0 ? length : 1);
  if (bytes == NULL) stop("no memory", line);
  return bytes;
}

static void open_folder(const char *line) {
  if (folder >= 0) close(folder);
  folder = open(line + strlen("folder "), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) stop(strerror(errno), line);
}

static void open_log(const char *line) {
  int slot = -1;
  char name[256];
  uint64_t max_bytes;
  if (sscanf(line, "open %d %255s %" SCNu64, &slot, name, &max_bytes) != 3 || slot < 0 || slot >= SLOTS) stop("malformed", line);
  log_free(logs[slot]);
  logs[slot] = log_open(folder, name, max_bytes);
  if (logs[slot] == NULL) stop("no memory", line);
}

static void write_log(const char *line) {
  size_t length;
  if (sscanf(line, "write %*d %zu", &length) != 1) stop("malformed", line);
  uint8_t *bytes = allocate(length, line);
  if (fread(bytes, 1, length, stdin) != length) stop("too few bytes", line);
  log_write(log_in(line), bytes, length);
  free(bytes);
}

static void print_totals(const char *line) {
  struct log *log = log_in(line);
  struct log_totals totals;
  log_totals(log, &totals);
  const struct log_gap *gap = &totals.gap;
  printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %d\n", totals.bytes, totals.lines,
         totals.dropped_bytes, gap->offset, gap->bytes, gap->lines, gap->marker_bytes, log_failure(log));
}

static void print_recent(const char *line) {
  uint8_t *room = allocate(8192, line);
  print_hex(room, log_recent(log_in(line), room));
  free(room);
}

static void join(const char *line) {
  size_t budget;
  if (sscanf(line, "join %*d %zu", &budget) != 1) stop("malformed", line);
  printf("%d\n", log_join(log_in(line), budget));
}

static void print_read(const char *line) {
  uint64_t offset;
  size_t length;
  if (sscanf(line, "read %*d %" SCNu64 " %zu", &offset, &length) != 2) stop("malformed", line);
  uint8_t *room = allocate(length, line);
  ssize_t read = log_read(log_in(line), &offset, room, length);
  if (read < 0) stop(strerror(errno), line);
  printf("%" PRIu64 " ", offset);
  print_hex(room, (size_t)read);
  free(room);
}

static void free_log(const char *line) {
  struct log *log = log_in(line);
  for (int i = 0; i < SLOTS; i++)
    if (logs[i] == log) logs[i] = NULL;
  log_free(log);
}

static void open_order(const char *line) {
  order_free(order);
  order = order_open(folder, line + strlen("order "));
  if (order == NULL) stop("no memory", line);
}

static void use_order(const char *line) {
  int stream;
  uint64_t bytes;
  if (order == NULL) stop("no order", line);
  if (strcmp(line, "flush") == 0) {
    order_flush(order);
  } else if (strcmp(line, "finish") == 0) {
    order_finish(order);
  } else if (strcmp(line, "close") == 0) {
    order_free(order);
    order = NULL;
  } else {
    if (sscanf(line, "add %d %" SCNu64, &stream, &bytes) != 2) stop("malformed", line);
    order_add(order, stream, bytes);
  }
}

static void remove_file(const char *line) {
  if (unlinkat(folder, line + strlen("remove "), 0) != 0) stop(strerror(errno), line);
}

static void make_obstacle(const char *line) {
  if (mkdirat(folder, line + strlen("obstacle "), 0700) != 0) stop(strerror(errno), line);
}

static void limit_files(const char *line) {
  struct rlimit limit;
  uint64_t bytes;
  if (sscanf(line, "limit %" SCNu64, &bytes) != 1 || getrlimit(RLIMIT_FSIZE, &limit) != 0) stop("malformed", line);
  limit.rlim_cur = bytes == 0 ? limit.rlim_max : (rlim_t)bytes;
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) stop(strerror(errno), line);
}

static void die(const char *line) {
  if (fflush(stdout) != 0) stop(strerror(errno), line);
  _exit(0);
}

static bool begins(const char *line, const char *word) {
  size_t length = strlen(word);
  return strncmp(line, word, length) == 0 && (line[length] == ' ' || line[length] == 0);
}

static void perform(const char *line) {
  static const struct {
    const char *word;
    void (*call)(const char *line);
  } commands[] = {
      {"folder", open_folder}, {"open", open_log},   {"write", write_log},   {"totals", print_totals}, {"recent", print_recent},
      {"join", join},          {"read", print_read}, {"free", free_log},     {"order", open_order},    {"add", use_order},
      {"flush", use_order},    {"finish", use_order}, {"close", use_order},  {"limit", limit_files},
      {"remove", remove_file}, {"obstacle", make_obstacle}, {"die", die},
  };
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
    if (!begins(line, commands[i].word)) continue;
    commands[i].call(line);
    return;
  }
  stop("unknown", line);
}

int main(void) {
  char line[4096];
  /* As in the supervisor: a file that is too long is an errno. */
  signal(SIGXFSZ, SIG_IGN);
  while (fgets(line, sizeof line, stdin) != NULL) {
    line[strcspn(line, "\n")] = 0;
    perform(line);
  }
  for (int i = 0; i < SLOTS; i++) log_free(logs[i]);
  order_free(order);
  if (folder >= 0) close(folder);
  return fflush(stdout) == 0 ? 0 : 1;
}
