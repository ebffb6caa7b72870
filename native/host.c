#include "host.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST_WAITING_CONNECTIONS = 128, LOCK_TRIES = 10 };

static enum place_result refuse(const char *what, const char *why) {
  fprintf(stderr, "holdfast-supervisor: %s: %s\n", what, why);
  return PLACE_REFUSED;
}

/* Whoever may change the folder could put another socket there. */
static enum place_result check_folder(const char *path) {
  char folder[sizeof ((struct sockaddr_un *)0)->sun_path];
  snprintf(folder, sizeof folder, "%s", path);
  char *end = strrchr(folder, '/');
  if (end == folder) end += 1;
  *end = '\0';
  struct stat found;
  if (lstat(folder, &found) != 0) return refuse(folder, strerror(errno));
  if (!S_ISDIR(found.st_mode)) return refuse(folder, "is no folder");
  if (found.st_uid != geteuid()) return refuse(folder, "belongs to another user");
  if ((found.st_mode & 077) != 0) return refuse(folder, "has to have the mode 0700");
  return PLACE_OURS;
}

enum { LOCK_PATH = sizeof ((struct place *)0)->address.sun_path + sizeof ".lock" };

static void name_lock(const struct place *place, char path[LOCK_PATH]) {
  snprintf(path, LOCK_PATH, "%s.lock", place->address.sun_path);
}

/* A lock on a file that was removed meanwhile, by the one who left or by somebody who tidied up, excludes nobody. */
static enum place_result take_lock(struct place *place) {
  char path[LOCK_PATH];
  name_lock(place, path);
  for (int try = 0; try < LOCK_TRIES; try += 1) {
    struct stat open_one, named;
    place->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (place->lock < 0) return refuse(path, strerror(errno));
    if (flock(place->lock, LOCK_EX | LOCK_NB) != 0) {
      int error = errno;
      close(place->lock);
      return error == EWOULDBLOCK ? PLACE_TAKEN : refuse(path, strerror(error));
    }
    if (fstat(place->lock, &open_one) == 0 && lstat(path, &named) == 0 && open_one.st_ino == named.st_ino && open_one.st_dev == named.st_dev)
      return PLACE_OURS;
    close(place->lock);
  }
  return refuse(path, "is replaced again and again");
}

static enum place_result open_door(struct place *place) {
  const char *path = place->address.sun_path;
  struct stat found;
  /* With the lock in hand, whoever made it is gone. */
  if (lstat(path, &found) == 0) {
    if (!S_ISSOCK(found.st_mode)) return refuse(path, "is there and is no socket");
    if (unlink(path) != 0) return refuse(path, strerror(errno));
  }
  place->door = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (place->door < 0) return refuse(path, strerror(errno));
  if (bind(place->door, (const struct sockaddr *)&place->address, sizeof place->address) != 0) return refuse(path, strerror(errno));
  if (lstat(path, &found) != 0 || listen(place->door, MOST_WAITING_CONNECTIONS) != 0) return refuse(path, strerror(errno));
  place->device = found.st_dev;
  place->inode = found.st_ino;
  return PLACE_OURS;
}

enum place_result place_take(struct place *place, const char *path) {
  *place = (struct place){.address = {.sun_family = AF_UNIX}, .lock = -1, .door = -1};
  if (path[0] != '/') return refuse(path, "has to be absolute");
  if (strlen(path) >= sizeof place->address.sun_path) return refuse(path, "is longer than a path of a socket may be");
  strcpy(place->address.sun_path, path);
  enum place_result result = check_folder(path);
  if (result == PLACE_OURS) result = take_lock(place);
  return result == PLACE_OURS ? open_door(place) : result;
}

void place_leave(struct place *place) {
  struct stat found;
  const char *path = place->address.sun_path;
  if (place->door < 0) return;
  if (lstat(path, &found) == 0 && found.st_ino == place->inode && found.st_dev == place->device) unlink(path);
  /* While it is held, and only if it is the one that is held: then nobody relies on it. */
  char lock_path[LOCK_PATH];
  name_lock(place, lock_path);
  struct stat lock;
  if (fstat(place->lock, &lock) == 0 && lstat(lock_path, &found) == 0 && found.st_ino == lock.st_ino && found.st_dev == lock.st_dev) unlink(lock_path);
  close(place->door);
  place->door = -1;
}
