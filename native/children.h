/* The children of the supervisor of which it is known to whom they belong. */
#ifndef HOLDFAST_CHILDREN_H
#define HOLDFAST_CHILDREN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct run;

/* Sorted by pid, for tree_surely_empty. A first process has its run; what a run left behind has none, and is here so that a server
   that somebody runs in the background does not make the end of each later run a search through all processes. */
struct children {
  pid_t *pids;
  struct run **runs;
  size_t count, room;
};

/* Makes room for one more, so that the next children_add cannot fail. */
bool children_reserve(struct children *children);
/* Does nothing where there is no room, or where it is known already. */
void children_add(struct children *children, pid_t pid, struct run *run);
/* To be called with each child that was waited for. Returns its run. */
struct run *children_take(struct children *children, pid_t pid);
/* The run is no more; its first process may still be there. */
void children_disown(struct children *children, pid_t pid);
void children_free(struct children *children);

#endif
