/* The faults of fault.h. The file that HOLDFAST_FAULT_FILE names holds one line, `POINT COUNT SIGNAL`: when that point is passed for
   the COUNTth time, the process sends itself the signal. The file is looked at anew at each pass, so that a test can arm a supervisor
   that runs already. Just before the signal the file is replaced by one with `.hit` behind its name that says `POINT NUMBER PID`. */
#include "fault.h"

#ifdef HOLDFAST_FAULTS

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Taken before main, because the supervisor blanks its environment. */
static char fault_file[4096];

__attribute__((constructor)) static void take_fault_file(void) {
  const char *path = getenv("HOLDFAST_FAULT_FILE");
  if (path && strlen(path) < sizeof fault_file) strcpy(fault_file, path);
}

struct armed {
  char point[64];
  unsigned count;
  int signal;
};

static int read_armed(struct armed *armed) {
  char text[128];
  const int file = open(fault_file, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0) return 0;
  text[length] = 0;
  return sscanf(text, "%63s %u %d", armed->point, &armed->count, &armed->signal) == 3;
}

static void tell(const char *point, uint64_t number) {
  char hit[sizeof fault_file + 8], draft[sizeof fault_file + 8], text[160];
  snprintf(hit, sizeof hit, "%s.hit", fault_file);
  snprintf(draft, sizeof draft, "%s.draft", fault_file);
  const int length = snprintf(text, sizeof text, "%s %" PRIu64 " %ld\n", point, number, (long)getpid());
  const int file = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return;
  const ssize_t written = write(file, text, (size_t)length);
  close(file);
  if (written == length && rename(draft, hit) == 0) unlink(fault_file);
}

void fault_pass(const char *point, uint64_t number) {
  static char passing[64];
  static unsigned passed;
  const int before = errno;
  struct armed armed;
  if (fault_file[0] && read_armed(&armed) && strcmp(armed.point, point) == 0) {
    if (strcmp(passing, point) != 0) {
      snprintf(passing, sizeof passing, "%s", point);
      passed = 0;
    }
    passed += 1;
    if (passed == armed.count) {
      passed = 0;
      tell(point, number);
      kill(getpid(), armed.signal);
    }
  }
  errno = before;
}

#else

/* A file of C must not be empty. */
typedef int fault_nothing;

#endif
