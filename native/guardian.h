/* The outer of the two processes: it does nothing but wait, and ends what the inner one started when that is killed. */
#ifndef HOLDFAST_GUARDIAN_H
#define HOLDFAST_GUARDIAN_H

#include <stdbool.h>
#include <stddef.h>

/* Forks. Returns true in the inner process, false with errno where there is none; never in the outer one. The signals that the server
   waits for have to be blocked, and are in both. */
bool guardian_fork(void);

/* Closes all descriptors from this one on. */
void close_from(int first);

/* Points the descriptors at /dev/null. */
void silence(const int *descriptors, size_t count);

#endif
