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

enum { SOCKET_PATH = sizeof ((struct sockaddr_un *)0)->sun_path };

/* The path of the socket is absolute. */
static void name_folder(const char *path, char folder[SOCKET_PATH]) {
  snprintf(folder, SOCKET_PATH, "%s", path);
  char *end = strrchr(folder, '/');
  if (end == folder) end += 1;
  *end = '\0';
}

/* Whoever may change the folder could put another socket there. */
static enum place_result check_folder(const char *path) {
  char folder[SOCKET_PATH];
  name_folder(path, folder);
  struct stat found;
  if (lstat(folder, &found) != 0) return refuse(folder, strerror(errno));
  if (!S_ISDIR(found.st_mode)) return refuse(folder, "is no folder");
  if (found.st_uid != geteuid()) return refuse(folder, "belongs to another user");
  if ((found.st_mode & 077) != 0) return refuse(folder, "has to have the mode 0700");
  return PLACE_OURS;
}

enum { LOCK_PATH = SOCKET_PATH + sizeof ".lock" };

static void name_lock(const struct place *place, char path[LOCK_PATH]) {
  snprintf(path, LOCK_PATH, "%s.lock", place->address.sun_path);
}

static bool is_named(const char *path, dev_t device, ino_t inode) {
  struct stat found;
  return lstat(path, &found) == 0 && found.st_ino == inode && found.st_dev == device;
}

/* A lock on a file that was removed meanwhile, by the one who left or by somebody who tidied up, excludes nobody. */
static enum place_result take_lock(struct place *place) {
  char path[LOCK_PATH];
  name_lock(place, path);
  for (int try = 0; try < LOCK_TRIES; try += 1) {
    struct stat open_one;
    int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (lock < 0) return refuse(path, strerror(errno));
    if (flock(lock, LOCK_EX | LOCK_NB) != 0) {
      int error = errno;
      close(lock);
      return error == EWOULDBLOCK ? PLACE_TAKEN : refuse(path, strerror(error));
    }
    if (fstat(lock, &open_one) == 0 && is_named(path, open_one.st_dev, open_one.st_ino)) {
      if (place->lock >= 0) close(place->lock);
      place->lock = lock;
      return PLACE_OURS;
    }
    close(lock);
  }
  return refuse(path, "is replaced again and again");
}

/* A socket that listens at the path, or -1. */
static int make_door(struct place *place) {
  struct stat found;
  int door = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (door < 0) return -1;
  bool listens = bind(door, (const struct sockaddr *)&place->address, sizeof place->address) == 0;
  if (!listens || lstat(place->address.sun_path, &found) != 0 || listen(door, MOST_WAITING_CONNECTIONS) != 0) {
    int error = errno;
    close(door);
    errno = error;
    return -1;
  }
  place->device = found.st_dev;
  place->inode = found.st_ino;
  return door;
}

/* In the place of the door that there was. */
static enum place_result open_door(struct place *place) {
  const char *path = place->address.sun_path;
  struct stat found;
  /* With the lock in hand, whoever made it is gone. */
  if (lstat(path, &found) == 0) {
    if (!S_ISSOCK(found.st_mode)) return refuse(path, "is there and is no socket");
    if (unlink(path) != 0) return refuse(path, strerror(errno));
  }
  int door = make_door(place);
  if (door < 0) return refuse(path, strerror(errno));
  if (place->door >= 0) close(place->door);
  place->door = door;
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

static bool lock_stands(const struct place *place) {
  char path[LOCK_PATH];
  struct stat lock;
  name_lock(place, path);
  return fstat(place->lock, &lock) == 0 && is_named(path, lock.st_dev, lock.st_ino);
}

static bool door_stands(const struct place *place) {
  return is_named(place->address.sun_path, place->device, place->inode);
}

bool place_stands(const struct place *place) {
  return door_stands(place) && lock_stands(place);
}

bool place_renew(struct place *place) {
  const char *path = place->address.sun_path;
  char folder[SOCKET_PATH];
  name_folder(path, folder);
  if (mkdir(folder, 0700) != 0 && errno != EEXIST) return false;
  if (check_folder(path) != PLACE_OURS) return false;
  /* Without the lock, somebody else may serve there. */
  if (!lock_stands(place) && take_lock(place) != PLACE_OURS) return false;
  return door_stands(place) || open_door(place) == PLACE_OURS;
}

void place_leave(struct place *place) {
  char lock_path[LOCK_PATH];
  if (place->door < 0) return;
  if (door_stands(place)) unlink(place->address.sun_path);
  /* While it is held, and only if it is the one that is held: then nobody relies on it. */
  name_lock(place, lock_path);
  if (lock_stands(place)) unlink(lock_path);
  close(place->door);
  place->door = -1;
}
