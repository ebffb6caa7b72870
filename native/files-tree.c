#include "files-tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fault.h"
#include "files-write.h"
#include "timers.h"

/* So long others wait for a turn of it. */
static const int64_t turn_us = 3000;
enum { LOOK_EVERY = 32, NO_REPLACE = 1 /* RENAME_NOREPLACE, which not every libc names */ };

/* ---- a pass through a directory ---- */

static void leave_level(struct tree_pass *pass) {
  struct level *level = &pass->levels[--pass->count];
  closedir(level->listing);
  free(level->name);
}

static void pass_close(struct tree_pass *pass) {
  while (pass->count > 0) leave_level(pass);
  free(pass->levels);
  pass->levels = NULL;
  pass->room = 0;
}

/* Takes the descriptor. */
static enum file_result enter_level(struct tree_pass *pass, int fd, const char *name, struct refusal *refusal) {
  struct level level = {.listing = fdopendir(fd), .name = name ? strdup(name) : NULL};
  if (pass->count == pass->room) {
    size_t room = pass->room ? pass->room * 2 : 8;
    struct level *levels = realloc(pass->levels, room * sizeof *levels);
    if (levels) {
      pass->levels = levels;
      pass->room = room;
    }
  }
  if (level.listing && (level.name || !name) && pass->count < pass->room) {
    pass->levels[pass->count++] = level;
    return FILE_DONE;
  }
  free(level.name);
  if (level.listing) closedir(level.listing);
  else close(fd);
  return refuse_errno(refusal, ENOMEM);
}

static enum file_result pass_begin(struct tree_pass *pass, const struct landing *landing, bool removes, struct refusal *refusal) {
  struct stat above;
  int fd = openat(landing_directory(landing), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return refuse_errno(refusal, errno);
  pass->removes = removes;
  pass->device = landing->stat.st_dev;
  bool mounted = fstat(landing_parent(landing), &above) != 0 || above.st_dev != pass->device;
  if (!mounted) return enter_level(pass, fd, NULL, refusal);
  close(fd);
  return refuse(refusal, "file_denied", "another file system is mounted there, or below it", NULL);
}

/* The entry as a level; -1 where it is no directory, or gone. */
static enum file_result open_below(const struct tree_pass *pass, int above, const char *name, int *fd, struct refusal *refusal) {
  struct stat found;
  *fd = -1;
  if (fstatat(above, name, &found, AT_SYMLINK_NOFOLLOW) != 0) return errno == ENOENT ? FILE_DONE : refuse_errno(refusal, errno);
  if (!S_ISDIR(found.st_mode)) return FILE_DONE;
  *fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (*fd < 0) return errno == ELOOP || errno == ENOTDIR || errno == ENOENT ? FILE_DONE : refuse_errno(refusal, errno);
  if (fstat(*fd, &found) == 0 && found.st_dev == pass->device) return FILE_DONE;
  close(*fd);
  *fd = -1;
  return refuse(refusal, "file_denied", "another file system is mounted there, or below it", NULL);
}

/* The level on top is at its end. */
static enum file_result finish_level(struct tree_pass *pass, struct refusal *refusal) {
  struct level *level = &pass->levels[pass->count - 1];
  /* Not every file system lists all of what was there while entries are removed. */
  if (level->any) {
    level->any = false;
    rewinddir(level->listing);
    return FILE_DONE;
  }
  if (pass->count == 1 || !pass->removes) {
    leave_level(pass);
    return FILE_DONE;
  }
  struct level *above = &pass->levels[pass->count - 2];
  if (unlinkat(dirfd(above->listing), level->name, AT_REMOVEDIR) != 0 && errno != ENOENT) return refuse_errno(refusal, errno);
  pass->removed += 1;
  above->any = true;
  leave_level(pass);
  return FILE_DONE;
}

static enum file_result pass_step(struct tree_pass *pass, struct refusal *refusal) {
  struct level *level = &pass->levels[pass->count - 1];
  int above = dirfd(level->listing), fd;
  errno = 0;
  struct dirent *entry = readdir(level->listing);
  if (!entry) return errno ? refuse_errno(refusal, errno) : finish_level(pass, refusal);
  const char *name = entry->d_name;
  if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return FILE_DONE;
  if (is_git_name(name)) return refuse(refusal, "file_outside", "holds what belongs to git", NULL);
  enum file_result result = open_below(pass, above, name, &fd, refusal);
  if (result != FILE_DONE) return result;
  if (fd >= 0) return enter_level(pass, fd, name, refusal);
  if (!pass->removes) return FILE_DONE;
  if (unlinkat(above, name, 0) != 0) return errno == ENOENT ? FILE_DONE : refuse_errno(refusal, errno);
  level->any = true;
  pass->removed += 1;
  FAULT("file-removed", pass->removed);
  return FILE_DONE;
}

static enum file_result pass_go_on(struct tree_pass *pass, struct refusal *refusal) {
  int64_t until_us = clock_us() + turn_us;
  for (unsigned step = 1; pass->count > 0; step += 1) {
    if (pass_step(pass, refusal) != FILE_DONE) return FILE_REFUSED;
    if (step % LOOK_EVERY == 0 && clock_us() > until_us) return FILE_GOES_ON;
  }
  return FILE_DONE;
}

/* What is to go away, or elsewhere. A link that leads out is refused also where it is meant itself. */
static enum file_result land(struct landing *landing, const char *root, const uint8_t *path, size_t length, struct refusal *refusal) {
  enum file_result result = walk(landing, root, path, length, WALK_CHANGES, refusal);
  landing_close(landing);
  if (result == FILE_DONE) result = walk(landing, root, path, length, WALK_CHANGES | WALK_KEEP_LAST, refusal);
  if (result != FILE_DONE) return result;
  if (!landing_name(landing)) return refuse(refusal, "file_outside", "is the root itself", NULL);
  return landing->exists ? FILE_DONE : refuse(refusal, "file_missing", NULL, NULL);
}

/* ---- removing ---- */

static enum file_result remove_once(struct removal *removal, struct removed *removed, struct refusal *refusal) {
  struct landing *landing = &removal->landing;
  if (!removal->under_way) {
    enum file_result result = land(landing, removal->root, removal->path, removal->path_length, refusal);
    if (result != FILE_DONE) return result;
    *removed = (struct removed){landing->stat.st_mode, 1};
    if (!landing->is_directory) {
      if (unlinkat(landing_parent(landing), landing_name(landing), 0) == 0) return FILE_DONE;
      return errno == EISDIR ? FILE_SWAPPED : refuse_errno(refusal, errno);
    }
    if (removal->recursive) result = pass_begin(&removal->pass, landing, false, refusal);
    if (result != FILE_DONE) return result;
    removal->under_way = true;
  }
  while (removal->recursive) {
    enum file_result result = pass_go_on(&removal->pass, refusal);
    if (result != FILE_DONE) return result;
    if (removal->pass.removes) break;
    if (pass_begin(&removal->pass, landing, true, refusal) != FILE_DONE) return FILE_REFUSED;
  }
  if (unlinkat(landing_parent(landing), landing_name(landing), AT_REMOVEDIR) != 0) return refuse_errno(refusal, errno);
  *removed = (struct removed){landing->stat.st_mode, removal->pass.removed + 1};
  return FILE_DONE;
}

enum file_result removal_go_on(struct removal *removal, struct removed *removed, struct refusal *refusal) {
  enum file_result result = FILE_SWAPPED;
  for (int attempt = 0; attempt < MOST_ATTEMPTS && result == FILE_SWAPPED; attempt += 1) {
    if (attempt > 0) landing_close(&removal->landing);
    result = remove_once(removal, removed, refusal);
  }
  return result == FILE_SWAPPED ? refuse_swapped(refusal) : result;
}

void removal_close(struct removal *removal) {
  pass_close(&removal->pass);
  landing_close(&removal->landing);
  free(removal->root);
  free(removal->path);
}

/* ---- renaming ---- */

static bool is_same(const struct stat *one, const struct stat *other) {
  return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

/* To a name that nothing has. What appears there meanwhile is not replaced. */
static enum file_result give_name(const struct landing *source, const struct landing *target, struct refusal *refusal) {
  int from = landing_parent(source), to = landing_parent(target);
  const char *old = landing_name(source), *fresh = landing_name(target);
  if (syscall(SYS_renameat2, from, old, to, fresh, NO_REPLACE) == 0) return FILE_DONE;
  if (errno == EEXIST) return FILE_SWAPPED;
  /* Not every file system, or kernel, can promise that. */
  if (errno != ENOSYS && errno != EINVAL) return refuse_errno(refusal, errno);
  if (S_ISREG(source->stat.st_mode) && linkat(from, old, to, fresh, 0) == 0) {
    if (unlinkat(from, old, 0) == 0) return FILE_DONE;
    int error = errno;
    unlinkat(to, fresh, 0);
    return refuse_errno(refusal, error);
  }
  if (S_ISREG(source->stat.st_mode) && errno == EEXIST) return FILE_SWAPPED;
  return renameat(from, old, to, fresh) == 0 ? FILE_DONE : refuse_errno(refusal, errno);
}

static enum file_result take_place(const struct moving *moving, bool *replaced, struct refusal *refusal) {
  const struct landing *source = &moving->source, *target = &moving->target;
  mode_t there = target->stat.st_mode;
  struct stat found, one, other;
  int fd = -1, from = landing_parent(source), to = landing_parent(target);
  if (!moving->replaces) return refuse(refusal, "file_kind", S_ISREG(there) ? "a file that is there already" : S_ISDIR(there) ? "a directory that is there already" : S_ISLNK(there) ? "a link that is there already" : "something that is there already", "a name that nothing has");
  if (!S_ISREG(there) || source->is_directory) return refuse(refusal, "file_kind", kind_in_words(there), source->is_directory ? "a name that nothing has" : "a file");
  /* What this user may not write is not replaced either. */
  enum file_result result = open_for_replacing(to, landing_name(target), &fd, &found, refusal);
  if (result != FILE_DONE) return result;
  close(fd);
  *replaced = true;
  if (!is_same(&found, &source->stat)) return renameat(from, landing_name(source), to, landing_name(target)) == 0 ? FILE_DONE : refuse_errno(refusal, errno);
  /* Two names of one file: a rename does nothing. */
  bool one_place = fstat(from, &one) == 0 && fstat(to, &other) == 0 && is_same(&one, &other) && strcmp(landing_name(source), landing_name(target)) == 0;
  *replaced = !one_place;
  return one_place || unlinkat(from, landing_name(source), 0) == 0 ? FILE_DONE : refuse_errno(refusal, errno);
}

/* Whether the new place is below what is to be moved. */
static bool is_below(const struct landing *source, const struct landing *target) {
  if (!source->is_directory || target->depth + (target->name ? 1 : 0) <= source->depth) return false;
  for (size_t at = 0; at < source->depth; at += 1)
    if (at >= target->depth || strcmp(source->inside[at].name, target->inside[at].name) != 0) return false;
  return true;
}

static enum file_result give_place(struct moving *moving, bool *replaced, struct refusal *refusal) {
  struct landing *target = &moving->target;
  landing_close(target);
  enum file_result result = walk(target, moving->root, moving->to, moving->to_length, WALK_CHANGES | WALK_MAKE_PARENTS, refusal);
  landing_close(target);
  if (result == FILE_DONE) result = walk(target, moving->root, moving->to, moving->to_length, WALK_CHANGES | WALK_KEEP_LAST, refusal);
  if (result != FILE_DONE) return result;
  if (is_below(&moving->source, target)) return refuse(refusal, "file_kind", "below what is to be moved", "outside of it");
  if (!landing_name(target)) return refuse(refusal, "file_outside", "is the root itself", NULL);
  *replaced = false;
  FAULT("file-moving", 0);
  result = target->exists ? take_place(moving, replaced, refusal) : give_name(&moving->source, target, refusal);
  FAULT("file-moved", 0);
  return result;
}

enum file_result moving_go_on(struct moving *moving, bool *replaced, bool *second, struct refusal *refusal) {
  struct landing *source = &moving->source;
  enum file_result result = FILE_DONE;
  *second = false;
  if (!moving->under_way) {
    moving->target.top = -1;
    result = land(source, moving->root, moving->from, moving->from_length, refusal);
    if (result == FILE_DONE && source->is_directory) result = pass_begin(&moving->pass, source, false, refusal);
    if (result != FILE_DONE) return result;
    moving->under_way = true;
  }
  result = pass_go_on(&moving->pass, refusal);
  if (result != FILE_DONE) return result;
  *second = true;
  result = FILE_SWAPPED;
  for (int attempt = 0; attempt < MOST_ATTEMPTS && result == FILE_SWAPPED; attempt += 1) result = give_place(moving, replaced, refusal);
  return result == FILE_SWAPPED ? refuse_swapped(refusal) : result;
}

void moving_close(struct moving *moving) {
  pass_close(&moving->pass);
  landing_close(&moving->source);
  landing_close(&moving->target);
  free(moving->root);
  free(moving->from);
  free(moving->to);
}
