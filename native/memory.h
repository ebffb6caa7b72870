/* Whether memory ran out: how many processes of the control group of this one the kernel has killed for lack of it. */
#ifndef HOLDFAST_MEMORY_H
#define HOLDFAST_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

struct memory_watch {
  int file;     /* memory.events, or memory.oom_control of version 1; -1: not known */
};

void memory_open(struct memory_watch *watch);
void memory_close(struct memory_watch *watch);
/* Since the group was made; false where that is not known. */
bool memory_kills(const struct memory_watch *watch, uint64_t *kills);

#endif
