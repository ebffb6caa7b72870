#include "memory.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The path of this process in a hierarchy, as of a line of /proc/self/cgroup, `ID:CONTROLLERS:PATH` (cgroups(7)): of the memory controller,
   or, without controllers, of version 2. */
static bool find_group(bool version2, char path[PATH_MAX]) {
  char line[PATH_MAX + 256];
  bool found = false;
  FILE *file = fopen("/proc/self/cgroup", "re");
  if (!file) return false;
  while (!found && fgets(line, sizeof line, file)) {
    char *controllers = strchr(line, ':');
    char *at = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!at) continue;
    *at++ = '\0';
    controllers += 1;
    at[strcspn(at, "\n")] = '\0';
    bool is_memory = false;
    for (char *rest = controllers, *name; (name = strsep(&rest, ","));) is_memory = is_memory || strcmp(name, "memory") == 0;
    found = version2 ? controllers[0] == '\0' : is_memory;
    if (found) snprintf(path, PATH_MAX, "%s", strcmp(at, "/") == 0 ? "" : at);
  }
  fclose(file);
  return found;
}

static int open_at(const char *mount, const char *group, const char *name) {
  char path[2 * PATH_MAX];
  snprintf(path, sizeof path, "%s%s/%s", mount, group, name);
  return open(path, O_RDONLY | O_CLOEXEC);
}

/* Inside of a container the hierarchy may be mounted from its own group on, whatever its path says. */
static int open_events(const char *mount, const char *group, const char *name) {
  int file = open_at(mount, group, name);
  return file >= 0 || group[0] == '\0' ? file : open_at(mount, "", name);
}

void memory_open(struct memory_watch *watch) {
  char group[PATH_MAX];
  watch->file = -1;
  if (find_group(false, group)) watch->file = open_events("/sys/fs/cgroup/memory", group, "memory.oom_control");
  if (watch->file < 0 && find_group(true, group)) watch->file = open_events("/sys/fs/cgroup", group, "memory.events");
}

void memory_close(struct memory_watch *watch) {
  if (watch->file >= 0) close(watch->file);
  watch->file = -1;
}

bool memory_kills(const struct memory_watch *watch, uint64_t *kills) {
  char text[512];
  ssize_t length = watch->file >= 0 ? pread(watch->file, text, sizeof text - 1, 0) : -1;
  if (length <= 0) return false;
  text[length] = '\0';
  /* Both files have lines `NAME NUMBER`; `oom_kill_disable` is another name. */
  for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
    if (strncmp(line, "oom_kill ", 9) != 0) continue;
    *kills = strtoull(line + 9, NULL, 10);
    return true;
  }
  return false;
}
