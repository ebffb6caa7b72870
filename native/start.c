/* Starting a command, see start.h. Single-threaded: the child borrows the memory of its parent until it executes the program. */
#include "start.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "fault.h"
#include "tree.h"

#ifndef TIOCGPTPEER
#define TIOCGPTPEER _IO('T', 0x41)
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
enum { CLOSE_RANGE_SETS_CLOEXEC = 4, SIGNALS = 64, KERNEL_MASK_BYTES = 8, MOST_DESCRIPTORS = 65536 };

struct failure_report {
  int stage, error;
};

/* What a child needs, made before it is there: it must not allocate. */
struct plan {
  const struct start_request *request;
  int ends[3];          /* the child's standard input, output and error output */
  const char *path;     /* folders to look in, or NULL where argv[0] has a slash */
  char *candidate;      /* room for one of them with argv[0] behind it */
  char **by_shell;      /* argv for a script without an interpreter line: sh, room for its path, the other arguments */
  /* What the child says. The report is a pipe that the exec closes, or -1 where the memory is shared. */
  bool began;
  struct failure_report failure;
  int report;
  const struct inherited *inherited;
  struct changed_limit changed[RLIM_NLIMITS];
  size_t changed_count;
};

/* One child at a time stands on it, because the parent waits until the exec. */
static alignas(16) char child_stack[32 * 1024];

IN_CHILD __attribute__((noreturn)) static void give_up(struct plan *plan, enum start_stage stage, int error) {
  plan->failure = (struct failure_report){.stage = (int)stage, .error = error};
  while (plan->report >= 0 && write(plan->report, &plan->failure, sizeof plan->failure) < 0 && errno == EINTR) continue;
  _exit(127);
}

/* Signals that are ignored here, also the real-time ones that libc keeps for itself. */
static unsigned char ignored[SIGNALS];
static size_t ignored_count;

/* What this process ignores does not change once it starts commands, so it is looked up before the first. */
static void find_ignored(void) {
  static bool found;
  if (found) return;
  found = true;
  struct {
    void *handler;
    unsigned long rest[7];
  } action;
  for (long number = 1; number <= SIGNALS; number += 1) {
    memset(&action, 0, sizeof action);
    if (syscall(SYS_rt_sigaction, number, NULL, &action, (long)KERNEL_MASK_BYTES) == 0 && action.handler == (void *)SIG_IGN)
      ignored[ignored_count++] = (unsigned char)number;
  }
}

/* An ignored signal would stay ignored in the program; the others are as the program wants them by the exec itself. */
IN_CHILD static void reset_signals(void) {
  static const unsigned long all_default[8];
  static const unsigned char none[KERNEL_MASK_BYTES];
  for (size_t at = 0; at < ignored_count; at += 1) syscall(SYS_rt_sigaction, (long)ignored[at], all_default, NULL, (long)KERNEL_MASK_BYTES);
  syscall(SYS_rt_sigprocmask, (long)SIG_SETMASK, none, NULL, (long)KERNEL_MASK_BYTES);
}

/* Nothing but the three standard descriptors outlives the exec. Marked instead of closed, because the report still needs its own. */
IN_CHILD static void close_others(void) {
  if (syscall(SYS_close_range, 3L, (long)UINT_MAX, (long)CLOSE_RANGE_SETS_CLOEXEC) == 0) return;
  struct rlimit limit = {.rlim_cur = MOST_DESCRIPTORS};
  getrlimit(RLIMIT_NOFILE, &limit);
  const int end = limit.rlim_cur < MOST_DESCRIPTORS ? (int)limit.rlim_cur : MOST_DESCRIPTORS;
  for (int descriptor = 3; descriptor < end; descriptor += 1) fcntl(descriptor, F_SETFD, FD_CLOEXEC);
}

/* Where the parent lacked a standard descriptor, a pipe may have its number: it is moved out of the way first. */
IN_CHILD static bool move_up(int *descriptor) {
  if (*descriptor > 2) return true;
  *descriptor = fcntl(*descriptor, F_DUPFD_CLOEXEC, 3);
  return *descriptor >= 0;
}

IN_CHILD static void take_descriptors(struct plan *plan) {
  if (plan->report >= 0 && !move_up(&plan->report)) _exit(127);
  for (int number = 0; number < 3; number += 1)
    if (!move_up(&plan->ends[number])) give_up(plan, START_PIPES, errno);
  for (int number = 0; number < 3; number += 1)
    if (dup2(plan->ends[number], number) < 0) give_up(plan, START_PIPES, errno);
  if (plan->request->pty && ioctl(0, TIOCSCTTY, 0) < 0) give_up(plan, START_PTY, errno);
  close_others();
}

/* Where the hard limit is lower, the run is known by its other signs. */
IN_CHILD static void set_tag(uint64_t tag) {
  struct rlimit limit;
  if (tag == 0 || getrlimit(RLIMIT_RTTIME, &limit) < 0) return;
  limit.rlim_cur = (rlim_t)tag;
  setrlimit(RLIMIT_RTTIME, &limit);
}

/* Returns only with errno. A script without an interpreter line is one for sh, as with execvp(3). */
IN_CHILD static int execute(const struct plan *plan, const char *file) {
  execve(file, plan->request->argv, plan->request->envp);
  if (errno != ENOEXEC) return errno;
  plan->by_shell[1] = (char *)(uintptr_t)file;
  execve(plan->by_shell[0], plan->by_shell, plan->request->envp);
  return errno;
}

/* As execvp(3): what may not be executed is only reported when nothing else is found. Returns only with errno. */
IN_CHILD static int search_and_execute(const struct plan *plan) {
  const char *name = plan->request->argv[0];
  bool refused = false;
  for (const char *folder = plan->path;; folder += 1) {
    const char *end = strchrnul(folder, ':');
    const size_t length = (size_t)(end - folder);
    memcpy(plan->candidate, folder, length);
    if (length > 0) plan->candidate[length] = '/';
    strcpy(plan->candidate + length + (length > 0), name);
    const int error = execute(plan, plan->candidate);
    if (error == EACCES) refused = true;
    else if (error != ENOENT && error != ENOTDIR && error != ESTALE && error != ENODEV && error != ETIMEDOUT && error != ENAMETOOLONG) return error;
    if (*end == '\0') return refused ? EACCES : ENOENT;
    folder = end;
  }
}

IN_CHILD static int run_child(void *argument) {
  struct plan *plan = argument;
  const struct start_request *request = plan->request;
  plan->began = true;
  setsid();
  reset_signals();
  take_descriptors(plan);
  if (chdir(request->cwd) < 0) give_up(plan, START_CWD, errno);
  inherited_take(plan->inherited, plan->changed, plan->changed_count);
  set_tag(request->tag);
  give_up(plan, START_PROGRAM, plan->path ? search_and_execute(plan) : execute(plan, request->argv[0]));
}

static const char *variable(char *const *envp, const char *name) {
  const size_t length = strlen(name);
  for (; *envp; envp += 1)
    if (strncmp(*envp, name, length) == 0 && (*envp)[length] == '=') return *envp + length + 1;
  return NULL;
}

/* False with errno. */
static bool plan_program(const struct start_request *request, struct plan *plan) {
  if (!request->argv[0] || request->argv[0][0] == '\0') {
    errno = ENOENT;
    return false;
  }
  size_t count = 0;
  while (request->argv[count]) count += 1;
  plan->by_shell = malloc((count + 2) * sizeof *plan->by_shell);
  if (!plan->by_shell) return false;
  plan->by_shell[0] = (char *)(uintptr_t)"/bin/sh";
  for (size_t at = 1; at <= count; at += 1) plan->by_shell[at + 1] = request->argv[at];
  if (strchr(request->argv[0], '/')) return true;
  const char *path = variable(request->envp, "PATH");
  plan->path = path ? path : "/bin:/usr/bin";
  plan->candidate = malloc(strlen(plan->path) + strlen(request->argv[0]) + 2);
  return plan->candidate != NULL;
}

static void close_all(const int *descriptors, size_t count) {
  for (size_t at = 0; at < count; at += 1)
    if (descriptors[at] >= 0) close(descriptors[at]);
}

/* Of what was just opened, so that there are no other flags. */
static bool set_nonblocking(int descriptor) {
  return fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0;
}

/* Pipes whose ends `ours` do not block, while those of the command do, as programs expect. False with errno; what was opened is in both. */
static bool open_pipes(bool wants_input, int ours[3], int theirs[3]) {
  for (int number = 0; number < 3; number += 1) {
    if (number == 0 && !wants_input) {
      theirs[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
      if (theirs[0] < 0) return false;
      continue;
    }
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) return false;
    ours[number] = ends[number == 0];
    theirs[number] = ends[number != 0];
    if (!set_nonblocking(ours[number])) return false;
  }
  return true;
}

/* The other side of a pseudo-terminal, by its path only where the kernel is too old to hand it out itself. */
static int open_terminal(int controller) {
  const int peer = ioctl(controller, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (peer >= 0) return peer;
  char path[64];
  const int error = ptsname_r(controller, path, sizeof path);
  if (error != 0) {
    errno = error;
    return -1;
  }
  return open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
}

/* What the kernel begins with (echo, signals by keys, line ends for terminals) suits; UTF-8 is what programs speak today. */
static bool make_sane(int terminal) {
  struct termios modes;
  if (tcgetattr(terminal, &modes) < 0) return false;
  modes.c_iflag |= ICRNL | IXON | IUTF8;
  modes.c_oflag |= OPOST | ONLCR;
  modes.c_lflag |= ISIG | ICANON | IEXTEN | ECHO | ECHOE | ECHOK;
  return tcsetattr(terminal, TCSANOW, &modes) == 0;
}

/* False with errno; what was opened is in ours and theirs. */
static bool open_pty(const struct start_request *request, int ours[3], int theirs[3]) {
  const int controller = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (controller < 0) return false;
  ours[1] = controller;
  if (grantpt(controller) < 0 || unlockpt(controller) < 0) return false;
  theirs[1] = open_terminal(controller);
  if (theirs[1] < 0 || !make_sane(theirs[1])) return false;
  if (!pty_resize(controller, request->rows ? request->rows : 24, request->columns ? request->columns : 80)) return false;
  if (!set_nonblocking(controller)) return false;
  ours[0] = fcntl(controller, F_DUPFD_CLOEXEC, 3);
  theirs[0] = fcntl(theirs[1], F_DUPFD_CLOEXEC, 3);
  theirs[2] = fcntl(theirs[1], F_DUPFD_CLOEXEC, 3);
  return ours[0] >= 0 && theirs[0] >= 0 && theirs[2] >= 0;
}

/* Handlers must not run in the child, where they would change the memory of the parent. Returns the pid, or -1 with errno. */
static pid_t fork_without_copying(struct plan *plan) {
  sigset_t all, before;
  sigfillset(&all);
  if (sigprocmask(SIG_SETMASK, &all, &before) < 0) return -1;
  const pid_t pid = clone(run_child, child_stack + sizeof child_stack, CLONE_VM | CLONE_VFORK | SIGCHLD, plan);
  const int error = errno;
  sigprocmask(SIG_SETMASK, &before, NULL);
  errno = error;
  return pid;
}

/* What the report says; without a word it was closed by the exec. */
static void read_report(int report, struct failure_report *said) {
  ssize_t got;
  do got = read(report, said, sizeof *said);
  while (got < 0 && errno == EINTR);
  if (got == 0) *said = (struct failure_report){0};
  else if (got != (ssize_t)sizeof *said) *said = (struct failure_report){.stage = START_PROCESS, .error = EIO};
}

/* Whether the child shares our memory and we wait for its exec: so it is with Linux, while an emulated kernel may copy and go on. */
static enum { SHARING_UNKNOWN, SHARING, COPYING } sharing;

static bool fork_and_execute(struct plan *plan, struct started *started) {
  int report[2] = {-1, -1};
  if (sharing != SHARING && pipe2(report, O_CLOEXEC) < 0) {
    started->error = errno;
    started->stage = START_PIPES;
    return false;
  }
  plan->report = report[1];
  /* The child moves its copies of the descriptors, in memory that may be ours. */
  struct plan childs = *plan;
  started->pid = fork_without_copying(&childs);
  started->error = errno;
  started->stage = START_PROCESS;
  close_all(&report[1], 1);
  struct failure_report said = childs.failure;
  if (started->pid > 0 && sharing == SHARING_UNKNOWN) sharing = childs.began ? SHARING : COPYING;
  if (started->pid > 0 && sharing == COPYING) read_report(report[0], &said);
  close_all(report, 1);
  if (started->pid < 0) return false;
  if (said.stage == 0) return true;
  started->stage = (enum start_stage)said.stage;
  started->error = said.error;
  while (waitpid(started->pid, NULL, 0) < 0 && errno == EINTR) continue;
  return false;
}

bool start_command(const struct start_request *request, struct started *started) {
  struct plan plan = {.request = request, .ends = {-1, -1, -1}, .report = -1};
  int ours[3] = {-1, -1, -1};
  *started = (struct started){.pid = -1, .in = -1, .out = -1, .err = -1};
  bool done = false;
  find_ignored();
  plan.inherited = request->inherited ? request->inherited : &inherited_usually;
  plan.changed_count = inherited_changes(plan.inherited, plan.changed);
  if (!plan_program(request, &plan)) {
    started->error = errno;
    started->stage = errno == ENOENT ? START_PROGRAM : START_PROCESS;
  } else if (!(request->pty ? open_pty(request, ours, plan.ends) : open_pipes(request->wants_input, ours, plan.ends))) {
    started->error = errno;
    started->stage = request->pty ? START_PTY : START_PIPES;
  } else {
    if (request->opened && !request->pty) request->opened(request->context, ours[1], ours[2]);
    FAULT("pipes-made", 0);
    done = fork_and_execute(&plan, started);
  }
  free(plan.by_shell);
  free(plan.candidate);
  close_all(plan.ends, 3);
  if (!done) {
    close_all(ours, 3);
    started->pid = -1;
    return false;
  }
  struct process process;
  started->start = process_read(started->pid, &process) ? process.start : 0;
  started->in = ours[0];
  started->out = ours[1];
  started->err = ours[2];
  started->stage = 0;
  started->error = 0;
  return true;
}

bool pty_resize(int descriptor, uint16_t rows, uint16_t columns) {
  const struct winsize size = {.ws_row = rows, .ws_col = columns};
  return ioctl(descriptor, TIOCSWINSZ, &size) == 0;
}
