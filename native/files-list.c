#include "files-list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *shown(const struct listed *entry) {
  return entry->shown ? entry->shown : entry->name;
}

static int by_name(const void *one, const void *other) {
  const struct listed *a = one, *b = other;
  int order = strcmp(shown(a), shown(b));
  return order ? order : strcmp(a->name, b->name);
}

static void cut(struct listing *listing, size_t most) {
  if (listing->count > 1) qsort(listing->entries, listing->count, sizeof *listing->entries, by_name);
  if (listing->count > most) listing->more = true;
  while (listing->count > most) {
    struct listed *last = &listing->entries[--listing->count];
    free(last->name);
    free(last->shown);
  }
}

static bool keep(struct listing *listing, const char *name, const char *after, size_t most) {
  struct listed entry = {.shown = name_shown(name)};
  if (after && strcmp(entry.shown ? entry.shown : name, after) <= 0) {
    free(entry.shown);
    return true;
  }
  if (listing->count == most * 2 + 16) cut(listing, most);
  if (listing->count == listing->room) {
    size_t room = listing->room ? listing->room * 2 : 64;
    struct listed *entries = realloc(listing->entries, room * sizeof *entries);
    if (entries) {
      listing->entries = entries;
      listing->room = room;
    }
  }
  entry.name = listing->count < listing->room ? strdup(name) : NULL;
  if (!entry.name) {
    free(entry.shown);
    return false;
  }
  listing->entries[listing->count++] = entry;
  return true;
}

enum file_result list_names(struct listing *listing, int directory, const char *after, size_t most, struct refusal *refusal) {
  int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;
  enum file_result result = FILE_DONE;
  if (!stream) {
    int error = errno;
    if (fd >= 0) close(fd);
    return refuse_errno(refusal, error);
  }
  for (;;) {
    errno = 0;
    struct dirent *entry = readdir(stream);
    if (!entry) {
      if (errno) result = refuse_errno(refusal, errno);
      break;
    }
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    if (keep(listing, entry->d_name, after, most)) continue;
    result = refuse_errno(refusal, ENOMEM);
    break;
  }
  closedir(stream);
  cut(listing, most);
  return result;
}

void listing_free(struct listing *listing) {
  cut(listing, 0);
  free(listing->entries);
  memset(listing, 0, sizeof *listing);
}
