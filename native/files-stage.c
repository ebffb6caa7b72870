#include "files-stage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "sha256.h"
#include "timers.h"
#include "tree.h"

static const char prefix[] = ".holdfast-staged-";
/* Of another machine or container that shares the directory nothing is known but the age. Nothing is written for as long as that. */
static const time_t foreign_s = 24 * 60 * 60;
enum { PREFIX = sizeof prefix - 1, SPACE = 12, NONCE = 16, START = 80, MOST_PID = 10, IDENTITY = 40 };

static void add_file(struct sha256 *hash, const char *path) {
  char text[256];
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t length = fd >= 0 ? read(fd, text, sizeof text) : -1;
  if (length > 0) sha256_add(hash, text, (size_t)length);
  if (fd >= 0) close(fd);
}

static void put_hex(char *out, const uint8_t *bytes, size_t count) {
  for (size_t at = 0; at < count; at += 1) snprintf(out + 2 * at, 3, "%02x", bytes[at]);
}

/* Where pids mean what they mean here: on this machine since its start, in this container. */
static const char *process_space(void) {
  static char space[SHA256_BYTES * 2 + 1];
  if (space[0]) return space;
  struct sha256 hash;
  char text[256] = "";
  uint8_t digest[SHA256_BYTES];
  sha256_begin(&hash);
  if (gethostname(text, sizeof text - 1) == 0) sha256_add(&hash, text, strlen(text));
  sha256_add(&hash, ",", 1);
  add_file(&hash, "/proc/sys/kernel/random/boot_id");
  sha256_add(&hash, ",", 1);
  ssize_t length = readlink("/proc/self/ns/pid", text, sizeof text);
  if (length > 0) sha256_add(&hash, text, (size_t)length);
  sha256_end(&hash, digest);
  put_hex(space, digest, SPACE / 2);
  return space;
}

static void name_stage(char name[STAGE_NAME]) {
  struct process self;
  char identity[IDENTITY] = "", start[2 * IDENTITY + 1] = "", nonce[NONCE + 1];
  uint8_t random[NONCE / 2];
  if (process_read(getpid(), &self)) process_identity(self.start, identity);
  put_hex(start, (const uint8_t *)identity, strlen(identity));
  if (getrandom(random, sizeof random, GRND_NONBLOCK) != (ssize_t)sizeof random) {
    int64_t now = clock_us();
    memcpy(random, &now, sizeof random);
  }
  put_hex(nonce, random, sizeof random);
  snprintf(name, STAGE_NAME, "%s%ld-%.*s-%s-%s", prefix, (long)getpid(), START, start, process_space(), nonce);
}

static bool opened(struct stage *stage, int directory) {
  struct stat found;
  stage->parent = fcntl(directory, F_DUPFD_CLOEXEC, 3);
  if (stage->parent < 0 || fstat(stage->parent, &found) != 0) return false;
  stage->device = found.st_dev;
  stage->inode = found.st_ino;
  return true;
}

enum file_result stage_open(struct stage *stage, int directory, mode_t mode, struct refusal *refusal) {
  *stage = no_stage;
  name_stage(stage->name);
  stage->fd = openat(directory, stage->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  if (stage->fd < 0) return errno == EACCES || errno == EPERM ? FILE_DONE : refuse_errno(refusal, errno);
  if (opened(stage, directory)) return FILE_DONE;
  int error = errno;
  unlinkat(directory, stage->name, 0);
  stage_drop(stage);
  return refuse_errno(refusal, error);
}

enum file_result stage_open_nameless(struct stage *stage, int directory, struct refusal *refusal) {
  enum { FLAGS = O_RDWR | O_TMPFILE | O_CLOEXEC };
  *stage = no_stage;
  stage->fd = openat(directory, ".", FLAGS, 0600);
  if (stage->fd < 0) stage->fd = open("/tmp", FLAGS, 0600);
  if (stage->fd < 0) stage->fd = open("/var/tmp", FLAGS, 0600);
  if (stage->fd < 0) stage->fd = memfd_create("holdfast", MFD_CLOEXEC);
  return stage->fd >= 0 ? FILE_DONE : refuse_errno(refusal, errno);
}

void stage_drop(struct stage *stage) {
  /* It took the place of its target, or nobody needs it. */
  if (stage->parent >= 0) {
    unlinkat(stage->parent, stage->name, 0);
    close(stage->parent);
  }
  if (stage->fd >= 0) close(stage->fd);
  *stage = no_stage;
}

static size_t span(const char *text, const char *letters, size_t most) {
  size_t length = strspn(text, letters);
  return length < most ? length : most;
}

/* `PID-START-SPACE-NONCE`: false where it is something else. The start is text again. */
static bool parse_name(const char *name, pid_t *pid, char start[IDENTITY + 1], char space[SPACE + 1]) {
  static const char digits[] = "0123456789", hex[] = "0123456789abcdef";
  const char *at = name + PREFIX;
  size_t length = span(at, digits, MOST_PID);
  *pid = (pid_t)strtoll(at, NULL, 10);
  if (length == 0 || at[length] != '-') return false;
  at += length + 1;
  length = span(at, hex, START);
  if (at[length] != '-') return false;
  for (size_t byte = 0; byte < length / 2; byte += 1) {
    unsigned value = 0;
    sscanf(at + 2 * byte, "%2x", &value);
    start[byte] = (char)value;
  }
  start[length / 2] = '\0';
  at += length + 1;
  if (strspn(at, hex) != SPACE || at[SPACE] != '-') return false;
  memcpy(space, at, SPACE);
  space[SPACE] = '\0';
  at += SPACE + 1;
  return strspn(at, hex) == NONCE && at[NONCE] == '\0';
}

static bool is_alive(pid_t pid, const char *start) {
  struct process process;
  char identity[IDENTITY];
  if (!process_read(pid, &process) || process.state == 'Z' || process.state == 'X') return false;
  process_identity(process.start, identity);
  return strcmp(identity, start) == 0;
}

static bool is_left(int directory, const char *name) {
  pid_t pid;
  char start[IDENTITY + 1], space[SPACE + 1];
  struct stat found;
  if (!parse_name(name, &pid, start, space)) return false;
  if (fstatat(directory, name, &found, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(found.st_mode)) return false;
  /* Root gives what it stages the owner of the target. */
  if (geteuid() != 0 && found.st_uid != geteuid()) return false;
  if (strcmp(space, process_space()) != 0) return time(NULL) - found.st_mtime > foreign_s;
  return !is_alive(pid, start);
}

/* When large directories were swept last, and how long that took: many files that are written into one spend at most a twentieth of their
   time on looking through it. A smaller one is swept before every write: how long that took says more about other work here. */
enum { REMEMBERED = 64, PAUSE_FACTOR = 20, LARGE_NAMES = 1000 };
static struct {
  dev_t device;
  ino_t inode;
  int64_t at_us, took_us;
} swept[REMEMBERED];

void stage_sweep(int directory) {
  struct stat found;
  if (fstat(directory, &found) != 0) return;
  size_t slot = (size_t)(found.st_ino % REMEMBERED);
  int64_t started_us = clock_us();
  bool known = swept[slot].device == found.st_dev && swept[slot].inode == found.st_ino && swept[slot].at_us > 0;
  if (known && started_us - swept[slot].at_us < swept[slot].took_us * PAUSE_FACTOR) return;
  int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *listing = fd >= 0 ? fdopendir(fd) : NULL;
  if (!listing) {
    if (fd >= 0) close(fd);
    return;
  }
  size_t count = 0;
  for (struct dirent *entry; (entry = readdir(listing)); count++)
    if (strncmp(entry->d_name, prefix, PREFIX) == 0 && is_left(directory, entry->d_name)) unlinkat(directory, entry->d_name, 0);
  closedir(listing);
  if (count < LARGE_NAMES) return;
  swept[slot].device = found.st_dev;
  swept[slot].inode = found.st_ino;
  swept[slot].at_us = clock_us();
  swept[slot].took_us = swept[slot].at_us - started_us;
}
