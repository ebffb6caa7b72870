/* Starting a command: pipes or a pseudo-terminal, its own session, nothing inherited but what it was given. */
#ifndef HOLDFAST_START_H
#define HOLDFAST_START_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "inherited.h"

struct start_request {
  char *const *argv;      /* NULL-terminated; argv[0] is looked up in the PATH of envp unless it has a slash */
  char *const *envp;      /* NULL-terminated */
  const char *cwd;
  bool wants_input;       /* a pipe for stdin; else /dev/null */
  bool pty;
  uint16_t rows, columns;
  const struct inherited *inherited; /* NULL: as usual */
  uint64_t tag;           /* soft limit RLIMIT_RTTIME, see tree.h; 0: leave it */
  /* Called with our ends of the output pipes before anything can be written to them, also where the start fails afterwards; NULL: not. */
  void (*opened)(void *context, int out, int err);
  void *context;
};

enum start_stage { START_PROGRAM = 1, START_CWD, START_PIPES, START_PTY, START_PROCESS };

struct started {
  pid_t pid;
  uint64_t start;         /* start time, see tree.h */
  int in, out, err;       /* our ends: non-blocking, close-on-exec; -1 where there is none. With a pty all three are the same descriptor's
                             duplicates for in and out, and err is -1 */
  enum start_stage stage; /* what failed */
  int error;              /* its errno */
};

/* True once the program was executed (execve succeeded). False: nothing runs, nothing is open, stage and error say why. The cost does not
   follow the memory of the caller (vfork semantics), and nothing is allocated between the fork and the exec. */
bool start_command(const struct start_request *request, struct started *started);

bool pty_resize(int descriptor, uint16_t rows, uint16_t columns);

#endif
