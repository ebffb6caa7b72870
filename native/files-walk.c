#include "files-walk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fault.h"

/* As many links lead on in Linux (path_resolution(7)); what is swapped while it is opened is looked at again, so often. */
enum { MOST_LINKS = 40, MOST_SWAPS = 100, MOST_PATH = 64 * 1024 };
enum { HANDLE = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

enum file_result refuse(struct refusal *refusal, const char *reason, const char *what, const char *needed) {
  *refusal = (struct refusal){.reason = reason, .what = what, .needed = needed};
  return FILE_REFUSED;
}

enum file_result refuse_errno(struct refusal *refusal, int error) {
  switch (error) {
    case ENOENT: refuse(refusal, "file_missing", NULL, NULL); break;
    case EACCES: refuse(refusal, "file_denied", "this user may not (EACCES)", NULL); break;
    case EPERM: refuse(refusal, "file_denied", "this user may not (EPERM)", NULL); break;
    case EROFS: refuse(refusal, "file_denied", "its file system is read-only (EROFS)", NULL); break;
    case EISDIR: refuse(refusal, "file_kind", "a directory", "a file"); break;
    case ENOTDIR: refuse(refusal, "file_kind", "a file, or below one", "a directory"); break;
    case ENOTEMPTY:
    case EEXIST: refuse(refusal, "file_kind", "a directory with something in it", "an empty one"); break;
    case ENAMETOOLONG: refuse(refusal, "file_name_too_long", NULL, NULL); break;
    case ELOOP: refuse(refusal, "file_loop", NULL, NULL); break;
    default: refuse(refusal, "file_failed", NULL, NULL);
  }
  refusal->error = error;
  return FILE_REFUSED;
}

/* A walk under way. Outside of the root it has no names. */
struct position {
  struct landing *landing;
  int away; /* -1: inside */
  int options;
  struct refusal *refusal;
};

static int current(const struct position *position) {
  return position->away >= 0 ? position->away : landing_directory(position->landing);
}

int landing_directory(const struct landing *landing) {
  return landing->depth > 0 ? landing->inside[landing->depth - 1].fd : landing->top;
}

int landing_parent(const struct landing *landing) {
  if (landing->name) return landing_directory(landing);
  return landing->depth > 1 ? landing->inside[landing->depth - 2].fd : landing->top;
}

const char *landing_name(const struct landing *landing) {
  if (landing->name) return landing->name;
  return landing->depth > 0 ? landing->inside[landing->depth - 1].name : NULL;
}

static void leave_last(struct landing *landing) {
  struct walked *last = &landing->inside[--landing->depth];
  close(last->fd);
  free(last->name);
}

void landing_close(struct landing *landing) {
  while (landing->depth > 0) leave_last(landing);
  if (landing->top >= 0) close(landing->top);
  free(landing->inside);
  free(landing->name);
  free(landing->root);
  text_free(&landing->links);
  memset(landing, 0, sizeof *landing);
  landing->top = -1;
}

static bool add_names(const struct landing *landing, const char *further, struct text *path) {
  bool fits = true;
  for (size_t at = 0; at < landing->depth && fits; at += 1) {
    const char *name = landing->inside[at].name;
    fits = (at == 0 || text_add(path, "/", 1)) && text_add(path, name, strlen(name));
  }
  if (further) fits = fits && (landing->depth == 0 || text_add(path, "/", 1)) && text_add(path, further, strlen(further));
  else if (landing->depth == 0) fits = text_add(path, ".", 1);
  return fits;
}

bool landing_path(const struct landing *landing, struct text *path) {
  return add_names(landing, landing->name, path);
}

static enum file_result refuse_outside(struct position *position) {
  return refuse(position->refusal, "file_outside", "leads outside", NULL);
}

/* Takes the descriptor. By whatever way one comes to the root, there one is inside. */
static enum file_result go_to(struct position *position, int fd) {
  struct stat here, top;
  if (fd < 0) return refuse_errno(position->refusal, errno);
  if (fstat(fd, &here) != 0 || fstat(position->landing->top, &top) != 0) {
    int error = errno;
    close(fd);
    return refuse_errno(position->refusal, error);
  }
  while (position->landing->depth > 0) leave_last(position->landing);
  if (position->away >= 0) close(position->away);
  position->away = fd;
  if (here.st_dev != top.st_dev || here.st_ino != top.st_ino) return FILE_DONE;
  close(fd);
  position->away = -1;
  return FILE_DONE;
}

/* Takes the name where it is DONE. FILE_SWAPPED with errno where it is no directory any more. */
static enum file_result enter(struct position *position, char *name) {
  struct landing *landing = position->landing;
  FAULT("file-entering", 0);
  int fd = openat(current(position), name, HANDLE);
  if (fd < 0) return FILE_SWAPPED;
  if (position->away >= 0) {
    enum file_result result = go_to(position, fd);
    if (result == FILE_DONE) free(name);
    return result;
  }
  if (landing->depth == landing->room) {
    size_t room = landing->room ? landing->room * 2 : 8;
    struct walked *inside = realloc(landing->inside, room * sizeof *inside);
    if (!inside) {
      close(fd);
      return refuse_errno(position->refusal, ENOMEM);
    }
    landing->inside = inside;
    landing->room = room;
  }
  landing->inside[landing->depth++] = (struct walked){fd, name};
  return FILE_DONE;
}

/* To the directory above: inside, the one that the walk came from, wherever that is now. */
static enum file_result go_up(struct position *position) {
  if (position->away < 0 && position->landing->depth > 0) {
    leave_last(position->landing);
    return FILE_DONE;
  }
  return go_to(position, openat(current(position), "..", HANDLE));
}

/* FILE_SWAPPED with errno where it is no link any more. */
static enum file_result follow(struct position *position, const char *name, struct names *todo) {
  struct landing *landing = position->landing;
  if (landing->link_count >= MOST_LINKS) return refuse(position->refusal, "file_loop", NULL, NULL);
  char target[PATH_MAX];
  ssize_t length = readlinkat(current(position), name, target, sizeof target - 1);
  if (length < 0) return FILE_SWAPPED;
  target[length] = '\0';
  bool fits = position->away >= 0 || add_names(landing, name, &landing->links);
  fits = fits && text_add(&landing->links, "", 1) && text_add(&landing->links, target, (size_t)length + 1);
  if (!fits || !names_push_path(todo, target, (size_t)length)) return refuse_errno(position->refusal, ENOMEM);
  landing->link_count += 1;
  return target[0] == '/' ? go_to(position, open("/", HANDLE)) : FILE_DONE;
}

static enum file_result refuse_git(const struct position *position, const char *further) {
  const struct landing *landing = position->landing;
  bool is_git = further && is_git_name(further);
  for (size_t at = 0; at < landing->depth && !is_git; at += 1) is_git = is_git_name(landing->inside[at].name);
  return is_git ? refuse(position->refusal, "file_outside", "belongs to git", NULL) : FILE_DONE;
}

/* What is missing, on the way to something. */
static enum file_result make_on_the_way(struct position *position, const char *name) {
  if (!(position->options & WALK_MAKE_PARENTS)) return refuse(position->refusal, "file_missing", NULL, NULL);
  if (refuse_git(position, name) != FILE_DONE) return FILE_REFUSED;
  /* Somebody else may make it, or something: that is looked at next. */
  if (mkdirat(current(position), name, 0777) != 0 && errno != EEXIST) return refuse_errno(position->refusal, errno);
  return FILE_DONE;
}

/* One name: GOES_ON where the walk does, and the name is walked again where `again` is set. */
static enum file_result step(struct position *position, char **name, struct names *todo, bool *again) {
  struct landing *landing = position->landing;
  bool last = todo->count == 0, away = position->away >= 0;
  struct stat found;
  bool exists = fstatat(current(position), *name, &found, AT_SYMLINK_NOFOLLOW) == 0;
  if (!exists && errno != ENOENT) return refuse_errno(position->refusal, errno);
  enum file_result result;
  if (exists && S_ISDIR(found.st_mode)) {
    result = enter(position, *name);
    if (result == FILE_DONE) *name = NULL;
  } else if (exists && S_ISLNK(found.st_mode) && !(last && (position->options & WALK_KEEP_LAST) && !away)) {
    result = follow(position, *name, todo);
  } else if (away) {
    result = refuse_outside(position);
  } else if (last) {
    landing->name = *name;
    *name = NULL;
    landing->exists = exists;
    landing->stat = found;
    return FILE_DONE;
  } else if (exists) {
    result = refuse(position->refusal, "file_kind", "below a file", "below a directory");
  } else {
    result = make_on_the_way(position, *name);
    *again = result == FILE_DONE;
  }
  return result == FILE_DONE ? FILE_GOES_ON : result;
}

/* Its landing is a directory that was entered, or the root. */
static enum file_result land_in_directory(struct position *position) {
  struct landing *landing = position->landing;
  if (position->away >= 0) return refuse_outside(position);
  if (fstat(landing_directory(landing), &landing->stat) != 0) return refuse_errno(position->refusal, errno);
  landing->exists = landing->is_directory = true;
  return FILE_DONE;
}

static bool was_swapped(int error) {
  return error == ELOOP || error == ENOTDIR || error == ENOENT || error == EINVAL;
}

static enum file_result walk_names(struct position *position, struct names *todo) {
  enum file_result result = FILE_GOES_ON;
  int swaps = 0;
  while (result == FILE_GOES_ON && todo->count > 0) {
    char *name = names_pop(todo);
    bool again = false;
    if (strcmp(name, "..") == 0) {
      result = go_up(position);
      if (result == FILE_DONE) result = FILE_GOES_ON;
    } else {
      result = step(position, &name, todo, &again);
      if (result == FILE_SWAPPED) {
        again = was_swapped(errno) && ++swaps <= MOST_SWAPS;
        result = again ? FILE_GOES_ON : refuse_errno(position->refusal, errno);
      }
    }
    if (again && name && !names_push(todo, name, strlen(name))) result = refuse_errno(position->refusal, ENOMEM);
    free(name);
  }
  return result == FILE_GOES_ON ? land_in_directory(position) : result;
}

static enum file_result open_root(struct landing *landing, const char *root, struct refusal *refusal) {
  landing->root = realpath(root, NULL);
  if (landing->root) landing->top = open(landing->root, HANDLE);
  if (landing->top >= 0) return FILE_DONE;
  return errno == ENOENT || errno == ENOTDIR ? refuse(refusal, "root_missing", NULL, NULL) : refuse_errno(refusal, errno);
}

/* Before a directory is made for it. */
static enum file_result check_names(const struct names *todo, int options, struct refusal *refusal) {
  for (size_t at = 0; at < todo->count && (options & WALK_CHANGES); at += 1)
    if (is_git_name(todo->list[at])) return refuse(refusal, "file_outside", "belongs to git", NULL);
  return FILE_DONE;
}

enum file_result walk(struct landing *landing, const char *root, const uint8_t *path, size_t length, int options, struct refusal *refusal) {
  memset(landing, 0, sizeof *landing);
  landing->top = -1;
  const char *wrong = path_wrong(path, length);
  if (wrong) return refuse(refusal, "file_outside", wrong, NULL);
  if (length > MOST_PATH) return refuse(refusal, "file_name_too_long", NULL, NULL);
  struct names todo = {0};
  struct position position = {.landing = landing, .away = -1, .options = options, .refusal = refusal};
  enum file_result result = names_push_path(&todo, (const char *)path, length) ? FILE_DONE : refuse_errno(refusal, ENOMEM);
  if (result == FILE_DONE) result = check_names(&todo, options, refusal);
  if (result == FILE_DONE) result = open_root(landing, root, refusal);
  if (result == FILE_DONE) {
    result = walk_names(&position, &todo);
    if (result == FILE_DONE && (options & WALK_CHANGES)) result = refuse_git(&position, landing->name);
    else if (result == FILE_REFUSED && position.away >= 0 && strcmp(refusal->reason, "file_loop") != 0) refuse_outside(&position);
  }
  if (position.away >= 0) close(position.away);
  names_free(&todo);
  return result;
}
