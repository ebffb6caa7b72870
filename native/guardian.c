#include "guardian.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "signals.h"
#include "timers.h"
#include "tree.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

/* Where a kernel cannot close them all at once, so many are closed one by one. */
enum { MOST_DESCRIPTORS = 65536 };
static const int64_t polite_us = 2000000, forceful_us = 2000000, kill_again_us = 100000;
static const long poll_ns = 10000000;

void close_from(int first) {
  if (syscall(SYS_close_range, (long)first, (long)UINT_MAX, 0L) == 0) return;
  struct rlimit limit = {.rlim_cur = MOST_DESCRIPTORS};
  getrlimit(RLIMIT_NOFILE, &limit);
  int end = limit.rlim_cur < MOST_DESCRIPTORS ? (int)limit.rlim_cur : MOST_DESCRIPTORS;
  for (int fd = first; fd < end; fd += 1) close(fd);
}

void silence(const int *descriptors, size_t count) {
  int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (size_t at = 0; nothing >= 0 && at < count; at += 1) dup2(nothing, descriptors[at]);
  if (nothing > 2) close(nothing);
}

/* False where there are no children any more: then there are no descendants either, because it is their reaper. */
static bool reap_all(void) {
  for (;;) {
    pid_t pid = waitpid(-1, NULL, WNOHANG);
    if (pid < 0 && errno == EINTR) continue;
    if (pid <= 0) return pid == 0;
  }
}

static void pause_a_little(void) {
  const struct timespec time = {.tv_nsec = poll_ns};
  nanosleep(&time, NULL);
}

/* The first process of each run gets it, and all that these left; what they start to clean up is not disturbed before the end. */
static void end_descendants(void) {
  int64_t until_us = clock_us() + polite_us;
  descendants_signal(getpid(), SIGTERM);
  while (reap_all()) {
    if (clock_us() >= until_us) break;
    pause_a_little();
  }
  until_us = clock_us() + forceful_us;
  int64_t next_us = 0;
  while (reap_all() && clock_us() < until_us) {
    if (clock_us() >= next_us) {
      descendants_signal(getpid(), SIGKILL);
      next_us = clock_us() + kill_again_us;
    }
    pause_a_little();
  }
}

/* Returns its status as of waitpid(2). */
static int wait_for(pid_t inner, const sigset_t *signals) {
  for (;;) {
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
      if (pid == inner) return status;
    if (pid < 0 && errno == ECHILD) return 0;
    int signal = sigwaitinfo(signals, NULL);
    if (signal > 0 && signal != SIGCHLD) kill(inner, signal);
  }
}

__attribute__((noreturn)) static void guard(pid_t inner) {
  static const int standard[] = {0, 1, 2};
  silence(standard, 3);
  /* The lock is among them: the next supervisor need not wait for what is done here. */
  close_from(3);
  sigset_t signals;
  awaited_signals(&signals);
  int status = wait_for(inner, &signals);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) _exit(0);
  end_descendants();
  _exit(1);
}

bool guardian_fork(void) {
  prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL);
  pid_t inner = fork();
  if (inner < 0) return false;
  if (inner > 0) guard(inner);
  prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL);
  return true;
}
