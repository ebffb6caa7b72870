#include "folders.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FOLDER_MODE = 0700, FILE_MODE = 0600 };

/* Up to and without each slash behind the first one, and the whole. */
static bool make_each(char *path) {
  for (char *at = path + 1;; at += 1) {
    if (*at != '/' && *at != '\0') continue;
    char kept = *at;
    *at = '\0';
    bool made = mkdir(path, FOLDER_MODE) == 0 || errno == EEXIST;
    *at = kept;
    /* What cannot be made in a folder that is there already, on the way, is told by what comes next. */
    if (kept == '\0') return made;
    if (!made && errno != EACCES && errno != EROFS) return false;
  }
}

static bool make_up_to(const char *path, size_t length) {
  char copy[PATH_MAX];
  if (path[0] != '/') return errno = EINVAL, false;
  if (length >= sizeof copy) return errno = ENAMETOOLONG, false;
  while (length > 1 && path[length - 1] == '/') length -= 1;
  memcpy(copy, path, length);
  copy[length] = '\0';
  struct stat found;
  if (stat(copy, &found) == 0) return S_ISDIR(found.st_mode) ? true : (errno = ENOTDIR, false);
  return make_each(copy);
}

bool folders_make(const char *path) {
  return make_up_to(path, strlen(path));
}

bool folders_make_above(const char *path) {
  const char *end = strrchr(path, '/');
  if (!end) return errno = EINVAL, false;
  return end == path || make_up_to(path, (size_t)(end - path));
}

bool folder_remove(const char *path) {
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT;
  DIR *folder = fdopendir(fd);
  if (!folder) {
    close(fd);
    return false;
  }
  for (const struct dirent *entry; (entry = readdir(folder));) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    if (unlinkat(dirfd(folder), entry->d_name, 0) != 0 && errno == EISDIR) (void)unlinkat(dirfd(folder), entry->d_name, AT_REMOVEDIR);
  }
  closedir(folder);
  return rmdir(path) == 0 || errno == ENOENT;
}

bool folder_put(int folder, const char *name, const void *bytes, unsigned long length) {
  int file = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
  if (file < 0) return false;
  const char *at = bytes;
  int error = 0;
  while (length > 0 && error == 0) {
    ssize_t written = write(file, at, length);
    if (written > 0) at += written, length -= (unsigned long)written;
    else if (written == 0) error = EIO;
    else if (errno != EINTR) error = errno;
  }
  if (close(file) != 0 && error == 0) error = errno;
  errno = error;
  return error == 0;
}
