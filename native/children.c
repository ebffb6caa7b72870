#include "children.h"

#include <stdlib.h>
#include <string.h>

/* Children are bounded by what the machine allows; what is left behind beyond this is found by the slower look. */
enum { MOST_CHILDREN = 65536 };

static size_t place_of(const struct children *children, pid_t pid) {
  size_t from = 0, to = children->count;
  while (from < to) {
    size_t middle = from + (to - from) / 2;
    if (children->pids[middle] < pid) from = middle + 1;
    else to = middle;
  }
  return from;
}

static bool is_at(const struct children *children, size_t place, pid_t pid) {
  return place < children->count && children->pids[place] == pid;
}

bool children_reserve(struct children *children) {
  if (children->count < children->room) return true;
  if (children->room >= MOST_CHILDREN) return false;
  size_t room = children->room ? children->room * 2 : 64;
  pid_t *pids = realloc(children->pids, room * sizeof *pids);
  if (pids) children->pids = pids;
  struct run **runs = realloc(children->runs, room * sizeof(struct run *));
  if (runs) children->runs = runs;
  if (!pids || !runs) return false;
  children->room = room;
  return true;
}

void children_add(struct children *children, pid_t pid, struct run *run) {
  size_t place = place_of(children, pid);
  if (is_at(children, place, pid) || children->count >= children->room) return;
  size_t behind = children->count - place;
  memmove(children->pids + place + 1, children->pids + place, behind * sizeof *children->pids);
  memmove(children->runs + place + 1, children->runs + place, behind * sizeof(struct run *));
  children->pids[place] = pid;
  children->runs[place] = run;
  children->count += 1;
}

struct run *children_take(struct children *children, pid_t pid) {
  size_t place = place_of(children, pid);
  if (!is_at(children, place, pid)) return NULL;
  struct run *run = children->runs[place];
  size_t behind = children->count - place - 1;
  memmove(children->pids + place, children->pids + place + 1, behind * sizeof *children->pids);
  memmove(children->runs + place, children->runs + place + 1, behind * sizeof(struct run *));
  children->count -= 1;
  return run;
}

void children_disown(struct children *children, pid_t pid) {
  size_t place = place_of(children, pid);
  if (is_at(children, place, pid)) children->runs[place] = NULL;
}

void children_free(struct children *children) {
  free(children->pids);
  free(children->runs);
  *children = (struct children){0};
}
