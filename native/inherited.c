#include "inherited.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_TEXT = 96 };

struct inherited inherited_usually = {.mask = 022};

/* Of this process; they stay as they are once it starts commands. */
static struct rlimit own[RLIM_NLIMITS];
static int own_nice;

static const struct {
  const char *name;
  int resource;
} names[] = {
  {"cpu", RLIMIT_CPU},         {"fsize", RLIMIT_FSIZE},           {"data", RLIMIT_DATA},   {"stack", RLIMIT_STACK},
  {"core", RLIMIT_CORE},       {"rss", RLIMIT_RSS},               {"nproc", RLIMIT_NPROC}, {"nofile", RLIMIT_NOFILE},
  {"memlock", RLIMIT_MEMLOCK}, {"as", RLIMIT_AS},                 {"locks", RLIMIT_LOCKS}, {"sigpending", RLIMIT_SIGPENDING},
  {"msgqueue", RLIMIT_MSGQUEUE}, {"nice", RLIMIT_NICE},           {"rtprio", RLIMIT_RTPRIO},
};

/* Unlimited where that is allowed, else as far as it goes. */
static void widen(int resource) {
  const struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
  struct rlimit limit;
  if (setrlimit(resource, &all) == 0 || getrlimit(resource, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(resource, &limit);
}

static void read_limits(struct rlimit limits[RLIM_NLIMITS]) {
  for (int resource = 0; resource < RLIM_NLIMITS; resource += 1)
    if (getrlimit(resource, &limits[resource]) != 0) limits[resource] = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
}

void inherited_begin(void) {
  static const int hindering[] = {RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_DATA, RLIMIT_AS, RLIMIT_RTTIME};
  struct inherited *usual = &inherited_usually;
  usual->mask = umask(077);
  usual->nice = getpriority(PRIO_PROCESS, 0);
  usual->limited = true;
  read_limits(usual->limits);
  for (size_t at = 0; at < sizeof hindering / sizeof *hindering; at += 1) widen(hindering[at]);
  /* There are more of these than any process may have, so that only the soft one is raised. */
  struct rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  if (usual->nice > 0) setpriority(PRIO_PROCESS, 0, 0);
  own_nice = getpriority(PRIO_PROCESS, 0);
  read_limits(own);
}

static bool read_amount(const char **text, rlim_t *amount) {
  static const char unlimited[] = "unlimited";
  if (strncmp(*text, unlimited, sizeof unlimited - 1) == 0) {
    *text += sizeof unlimited - 1;
    *amount = RLIM_INFINITY;
    return true;
  }
  if (**text < '0' || **text > '9') return false;
  char *end;
  *amount = (rlim_t)strtoull(*text, &end, 10);
  *text = end;
  return true;
}

bool inherited_set_limit(struct inherited *inherited, const char *text, size_t length) {
  char copy[MOST_TEXT];
  struct rlimit limit;
  if (length >= sizeof copy || memchr(text, '\0', length)) return false;
  memcpy(copy, text, length);
  copy[length] = '\0';
  const char *at = strchr(copy, ' ');
  if (!at) return false;
  const size_t name_length = (size_t)(at - copy);
  at += 1;
  if (!read_amount(&at, &limit.rlim_cur) || *at != ' ') return false;
  at += 1;
  if (!read_amount(&at, &limit.rlim_max) || *at != '\0' || limit.rlim_cur > limit.rlim_max) return false;
  for (size_t index = 0; index < sizeof names / sizeof *names; index += 1) {
    if (strlen(names[index].name) != name_length || memcmp(names[index].name, copy, name_length) != 0) continue;
    inherited->limits[names[index].resource] = limit;
  }
  return true;
}

size_t inherited_changes(const struct inherited *inherited, struct changed_limit changed[RLIM_NLIMITS]) {
  size_t count = 0;
  for (int resource = 0; inherited->limited && resource < RLIM_NLIMITS; resource += 1) {
    const struct rlimit *limit = &inherited->limits[resource];
    if (resource == RLIMIT_RTTIME || (limit->rlim_cur == own[resource].rlim_cur && limit->rlim_max == own[resource].rlim_max)) continue;
    changed[count++] = (struct changed_limit){resource, *limit};
  }
  return count;
}

IN_CHILD static void take_limit(const struct changed_limit *changed) {
  if (setrlimit(changed->resource, &changed->limit) == 0) return;
  struct rlimit limit;
  if (getrlimit(changed->resource, &limit) != 0) return;
  if (changed->limit.rlim_max < limit.rlim_max) limit.rlim_max = changed->limit.rlim_max;
  limit.rlim_cur = changed->limit.rlim_cur < limit.rlim_max ? changed->limit.rlim_cur : limit.rlim_max;
  setrlimit(changed->resource, &limit);
}

IN_CHILD void inherited_take(const struct inherited *inherited, const struct changed_limit *changed, size_t count) {
  umask(inherited->mask);
  if (inherited->limited && inherited->nice != own_nice) setpriority(PRIO_PROCESS, 0, inherited->nice);
  for (size_t at = 0; at < count; at += 1) take_limit(&changed[at]);
}
