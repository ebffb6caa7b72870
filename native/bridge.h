/* Carries standard input and output to the supervisor that serves at a socket: how it is reached over whatever starts a program. */
#ifndef HOLDFAST_BRIDGE_H
#define HOLDFAST_BRIDGE_H

#include <stdint.h>

struct bridge_request {
  const char *socket, *home; /* without a home, no supervisor is started */
  uint64_t idle_ms;
};

/* Starts a supervisor where none serves and there is a home for it. Returns the exit status, when one side has closed; what kept it from its work is on standard error. */
int bridge(const struct bridge_request *request);

#endif
