#include "files-write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fault.h"

static const char no_new_file[] = "its directory takes no new file";
static const char has_other_names[] = "it has other names (hard links), and its directory takes no new file";

enum file_result refuse_swapped(struct refusal *refusal) {
  refuse(refusal, "file_failed", NULL, NULL);
  refusal->error = ELOOP;
  return FILE_REFUSED;
}

const char *kind_in_words(mode_t mode) {
  return S_ISREG(mode) ? "a file" : S_ISDIR(mode) ? "a directory" : S_ISLNK(mode) ? "a link" : "a pipe, socket or device";
}

enum file_result require_file_place(const struct landing *landing, struct refusal *refusal) {
  if (landing->is_directory) return refuse(refusal, "file_kind", "a directory", "a file");
  if (landing->exists && !S_ISREG(landing->stat.st_mode)) return refuse(refusal, "file_kind", kind_in_words(landing->stat.st_mode), "a file");
  return FILE_DONE;
}

enum file_result open_regular(int parent, const char *name, int flags, int *fd, struct stat *found, struct refusal *refusal) {
  FAULT("file-opening", 0);
  *fd = openat(parent, name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (*fd < 0) {
    /* A link, a pipe that nobody reads, a directory: it was a file a moment ago. */
    if (errno == ELOOP || errno == ENXIO || errno == EISDIR || errno == ENOTDIR) return FILE_SWAPPED;
    return refuse_errno(refusal, errno);
  }
  if (fstat(*fd, found) == 0 && S_ISREG(found->st_mode)) return FILE_DONE;
  close(*fd);
  *fd = -1;
  return FILE_SWAPPED;
}

enum file_result open_for_replacing(int parent, const char *name, int *fd, struct stat *found, struct refusal *refusal) {
  enum file_result result = open_regular(parent, name, O_WRONLY, fd, found, refusal);
  return result == FILE_REFUSED && refusal->error == ETXTBSY ? open_regular(parent, name, O_RDONLY, fd, found, refusal) : result;
}

/* ---- bytes ---- */

/* How many were written; fewer than asked for with errno. */
static size_t write_all(int fd, const uint8_t *bytes, size_t length) {
  size_t done = 0;
  while (done < length) {
    ssize_t wrote = write(fd, bytes + done, length - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) break;
    done += (size_t)wrote;
  }
  return done;
}

/* Adds all that is in a file. */
static enum file_result copy_all(int to, int from, struct refusal *refusal) {
  static uint8_t piece[256 * 1024];
  off_t at = 0;
  for (;;) {
    ssize_t got = pread(from, piece, sizeof piece, at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return refuse_errno(refusal, errno);
    if (got == 0) return FILE_DONE;
    if (write_all(to, piece, (size_t)got) < (size_t)got) return refuse_errno(refusal, errno);
    at += got;
  }
}

/* One call of the system adds all of it, at what is the end at that moment. */
static enum file_result add_to_end(int fd, const uint8_t *bytes, size_t length, struct refusal *refusal) {
  struct stat before, after;
  if (fstat(fd, &before) != 0) return refuse_errno(refusal, errno);
  FAULT("file-adding", length);
  size_t added = write_all(fd, bytes, length);
  FAULT("file-added", added);
  if (added == length) return FILE_DONE;
  int error = errno;
  /* What others added meanwhile is not cut off. */
  static char told[64];
  bool alone = fstat(fd, &after) == 0 && after.st_size == before.st_size + (off_t)added;
  if (!(alone && ftruncate(fd, before.st_size) == 0) && added > 0) {
    snprintf(told, sizeof told, "after %zu of %zu bytes", added, length);
    refuse(refusal, "file_failed", told, NULL);
    refusal->error = error;
    return FILE_REFUSED;
  }
  return refuse_errno(refusal, error);
}

/* ---- into its place ---- */

/* Where the content goes, as it is found at the commit. */
struct target {
  struct landing landing;
  int parent;
  const char *name;
  int existing;            /* -1: nothing is there */
  struct stat stat;        /* of what is there */
};

/* DONE with *whole false where the owner cannot be kept. */
static enum file_result take_over(int fd, const struct stat *before, bool *whole, struct refusal *refusal) {
  struct stat own;
  *whole = true;
  if (fstat(fd, &own) != 0) return refuse_errno(refusal, errno);
  bool differs = own.st_uid != before->st_uid || own.st_gid != before->st_gid;
  if (differs && fchown(fd, before->st_uid, before->st_gid) != 0) {
    if (errno != EPERM) return refuse_errno(refusal, errno);
    *whole = false;
    return FILE_DONE;
  }
  return fchmod(fd, before->st_mode & 0777) == 0 ? FILE_DONE : refuse_errno(refusal, errno);
}

/* Gives the stage its place. DONE with *taken false where that cannot be done and nothing was changed. */
static enum file_result place(const struct writing *writing, const struct target *target, const struct stage *stage, bool *taken, struct refusal *refusal) {
  *taken = true;
  if (target->existing >= 0) {
    enum file_result result = take_over(stage->fd, &target->stat, taken, refusal);
    if (result != FILE_DONE || !*taken) return result;
  } else if (writing->has_mode && fchmod(stage->fd, writing->mode) != 0) {
    return refuse_errno(refusal, errno);
  }
  FAULT("file-placing", 0);
  if (renameat(stage->parent, stage->name, target->parent, target->name) == 0) {
    FAULT("file-placed", 0);
    return FILE_DONE;
  }
  /* A directory stands there by now; a file system is mounted on the file; the directory lets only owners replace (sticky). */
  if (errno == EISDIR) return FILE_SWAPPED;
  *taken = false;
  return errno == EBUSY || errno == EPERM || errno == EACCES ? FILE_DONE : refuse_errno(refusal, errno);
}

/* Whether what was staged when it was opened fits what is found now. */
static bool is_ready(const struct writing *writing, const struct target *target) {
  const struct stage *stage = &writing->stage;
  struct stat found;
  if (stage->parent < 0 || fstat(target->parent, &found) != 0) return false;
  bool same_directory = stage->device == found.st_dev && stage->inode == found.st_ino;
  return same_directory && (writing->has_mode || writing->existed == (target->existing >= 0));
}

/* Stages the content anew, behind what is in `front` where that is one, and places it. */
static enum file_result stage_and_place(const struct writing *writing, const struct target *target, int front, bool *taken, struct refusal *refusal) {
  struct stage stage;
  *taken = false;
  enum file_result result = stage_open(&stage, target->parent, target->existing >= 0 ? 0600 : 0666, refusal);
  if (result != FILE_DONE || stage.fd < 0) return result;
  if (front >= 0) result = copy_all(stage.fd, front, refusal);
  if (result == FILE_DONE) result = copy_all(stage.fd, writing->stage.fd, refusal);
  if (result == FILE_DONE) result = place(writing, target, &stage, taken, refusal);
  stage_drop(&stage);
  return result;
}

static enum file_result write_in_place(const struct writing *writing, const struct target *target, struct refusal *refusal) {
  if (target->existing < 0) return refuse(refusal, "file_denied", no_new_file, NULL);
  if (target->stat.st_nlink > 1) return refuse(refusal, "file_denied", has_other_names, NULL);
  /* Opened for reading only, see open_for_replacing. */
  if (ftruncate(target->existing, 0) != 0) return refuse(refusal, "file_denied", "it is a program that runs, and its directory takes no new file", NULL);
  return copy_all(target->existing, writing->stage.fd, refusal);
}

static enum file_result replace(const struct writing *writing, struct target *target, struct written *written, struct refusal *refusal) {
  enum file_result result = FILE_DONE;
  bool taken;
  if (target->landing.exists) result = open_for_replacing(target->parent, target->name, &target->existing, &target->stat, refusal);
  if (result != FILE_DONE) return result;
  result = is_ready(writing, target) ? place(writing, target, &writing->stage, &taken, refusal) : stage_and_place(writing, target, -1, &taken, refusal);
  written->created = target->existing < 0;
  written->in_place = result == FILE_DONE && !taken;
  return written->in_place ? write_in_place(writing, target, refusal) : result;
}

/* Makes a file with its content, where none is. */
static enum file_result create(const struct writing *writing, const struct target *target, struct refusal *refusal) {
  struct stage own = no_stage;
  const struct stage *stage = &writing->stage;
  enum file_result result = FILE_DONE;
  if (!is_ready(writing, target)) {
    result = stage_open(&own, target->parent, 0666, refusal);
    if (result == FILE_DONE && own.fd < 0) result = refuse(refusal, "file_denied", no_new_file, NULL);
    if (result == FILE_DONE) result = copy_all(own.fd, writing->stage.fd, refusal);
    stage = &own;
  }
  FAULT("file-placing", 0);
  /* Unlike a rename, a link replaces nothing. Some file systems know none. */
  if (result == FILE_DONE && linkat(stage->parent, stage->name, target->parent, target->name, 0) != 0) {
    bool none = errno == EPERM || errno == ENOTSUP || errno == ENOSYS || errno == EMLINK;
    if (errno == EEXIST) result = FILE_SWAPPED;
    else if (!none || renameat(stage->parent, stage->name, target->parent, target->name) != 0) result = refuse_errno(refusal, errno);
  }
  FAULT("file-placed", 0);
  stage_drop(&own);
  return result;
}

/* Under its other names it may be in a place that is not ours to change. */
static enum file_result add_to_shared(const struct writing *writing, struct target *target, struct refusal *refusal) {
  int source;
  struct stat found;
  bool taken = false;
  enum file_result result = open_regular(target->parent, target->name, O_RDONLY, &source, &found, refusal);
  if (result != FILE_DONE) return result;
  if (found.st_ino != target->stat.st_ino || found.st_dev != target->stat.st_dev) result = FILE_SWAPPED;
  else result = stage_and_place(writing, target, source, &taken, refusal);
  close(source);
  return result == FILE_DONE && !taken ? refuse(refusal, "file_denied", has_other_names, NULL) : result;
}

static enum file_result append(const struct writing *writing, struct target *target, struct written *written, struct refusal *refusal) {
  written->created = !target->landing.exists;
  if (written->created) return create(writing, target, refusal);
  enum file_result result = open_regular(target->parent, target->name, O_WRONLY | O_APPEND, &target->existing, &target->stat, refusal);
  if (result != FILE_DONE) return result;
  written->in_place = target->stat.st_nlink <= 1 || writing->bytes == 0;
  if (!written->in_place) return add_to_shared(writing, target, refusal);
  if (writing->bytes == 0) return FILE_DONE;
  void *content = mmap(NULL, (size_t)writing->bytes, PROT_READ, MAP_SHARED, writing->stage.fd, 0);
  if (content == MAP_FAILED) return refuse_errno(refusal, errno);
  result = add_to_end(target->existing, content, (size_t)writing->bytes, refusal);
  munmap(content, (size_t)writing->bytes);
  return result;
}

static enum file_result commit_once(const struct writing *writing, struct written *written, struct refusal *refusal) {
  struct target target = {.existing = -1};
  enum file_result result = walk(&target.landing, writing->root, writing->path, writing->path_length, WALK_CHANGES | WALK_MAKE_PARENTS, refusal);
  if (result == FILE_DONE) result = require_file_place(&target.landing, refusal);
  if (result == FILE_DONE) {
    target.parent = landing_parent(&target.landing);
    target.name = landing_name(&target.landing);
    result = (writing->appends ? append : replace)(writing, &target, written, refusal);
  }
  if (result == FILE_DONE && !landing_path(&target.landing, &written->path)) result = refuse_errno(refusal, ENOMEM);
  if (target.existing >= 0) close(target.existing);
  landing_close(&target.landing);
  return result;
}

enum file_result writing_commit(struct writing *writing, struct written *written, struct refusal *refusal) {
  if (writing->failed.reason) {
    *refusal = writing->failed;
    return FILE_REFUSED;
  }
  FAULT("file-committing", writing->bytes);
  enum file_result result = FILE_SWAPPED;
  for (int attempt = 0; attempt < MOST_ATTEMPTS && result == FILE_SWAPPED; attempt += 1) {
    *written = (struct written){0};
    result = commit_once(writing, written, refusal);
  }
  return result == FILE_SWAPPED ? refuse_swapped(refusal) : result;
}

/* ---- until then ---- */

static enum file_result open_once(struct writing *writing, struct landing *landing, struct refusal *refusal) {
  bool file = !path_means_directory(writing->path, writing->path_length);
  enum file_result result = walk(landing, writing->root, writing->path, writing->path_length, WALK_CHANGES | (file ? WALK_MAKE_PARENTS : 0), refusal);
  if (result == FILE_DONE && !file) result = refuse(refusal, "file_kind", "a directory", "a file");
  if (result == FILE_DONE) result = require_file_place(landing, refusal);
  if (result != FILE_DONE) return result;
  int parent = landing_parent(landing), existing = -1;
  const char *name = landing_name(landing);
  struct stat found;
  stage_sweep(parent);
  writing->existed = landing->exists;
  /* What this user may not write is not replaced either. */
  if (landing->exists && writing->appends) result = open_regular(parent, name, O_WRONLY | O_APPEND, &existing, &found, refusal);
  else if (landing->exists) result = open_for_replacing(parent, name, &existing, &found, refusal);
  if (existing >= 0) close(existing);
  if (result != FILE_DONE) return result;
  if (!landing->exists || !writing->appends) {
    result = stage_open(&writing->stage, parent, landing->exists || writing->has_mode ? 0600 : 0666, refusal);
    if (result != FILE_DONE || writing->stage.fd >= 0) return result;
    if (!landing->exists) return refuse(refusal, "file_denied", no_new_file, NULL);
  }
  return stage_open_nameless(&writing->stage, parent, refusal);
}

enum file_result writing_open(struct writing *writing, struct landing *landing, struct refusal *refusal) {
  enum file_result result = FILE_SWAPPED;
  sha256_begin(&writing->hash);
  for (int attempt = 0; attempt < MOST_ATTEMPTS && result == FILE_SWAPPED; attempt += 1) {
    if (attempt > 0) landing_close(landing);
    result = open_once(writing, landing, refusal);
  }
  FAULT("file-staged", 0);
  return result == FILE_SWAPPED ? refuse_swapped(refusal) : result;
}

enum file_result writing_fill(struct writing *writing, const uint8_t *bytes, size_t length, struct refusal *refusal) {
  if (!writing->failed.reason && write_all(writing->stage.fd, bytes, length) < length) refuse_errno(&writing->failed, errno);
  if (writing->failed.reason) {
    *refusal = writing->failed;
    return FILE_REFUSED;
  }
  sha256_add(&writing->hash, bytes, length);
  writing->bytes += length;
  FAULT("file-filled", writing->bytes);
  return FILE_DONE;
}

void writing_close(struct writing *writing) {
  stage_drop(&writing->stage);
  free(writing->root);
  free(writing->path);
  memset(writing, 0, sizeof *writing);
  writing->stage = no_stage;
}
