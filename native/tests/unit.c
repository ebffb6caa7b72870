/* Promises of start.h and tree.h, one by one: `unit CASE` ends with 0 where it is kept and with 77 where it cannot be tried here.
   native/native.test.ts says what each case is about. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../start.h"
#include "../tree.h"

enum { NOT_HERE = 77, PATIENCE_MS = 20000 };
/* Of this program alone, because others of its kind may run meanwhile. */
static uint64_t some_tag;
static char mark[32], mark_variable[64] = "HOLDFAST_RUN=outer/";

#define CHECK(condition)                                                                    \
  do {                                                                                      \
    if (!(condition)) {                                                                     \
      fprintf(stderr, "%s:%d: not so: %s (errno %s)\n", __FILE__, __LINE__, #condition, strerror(errno)); \
      exit(1);                                                                              \
    }                                                                                       \
  } while (0)

static char *plain_environment[] = {(char *)"PATH=/usr/local/bin:/usr/bin:/bin", mark_variable, NULL};
static char root_folder[] = "/";

/* Starts `sh -c SCRIPT`. */
static struct started start_script(const char *script, bool wants_input, uint64_t tag) {
  char *argv[] = {(char *)"sh", (char *)"-c", (char *)(uintptr_t)script, NULL};
  const struct start_request request = {.argv = argv, .envp = plain_environment, .cwd = root_folder, .wants_input = wants_input, .tag = tag};
  struct started started;
  CHECK(start_command(&request, &started));
  return started;
}

static struct tree_key key_of(const struct started *started) {
  return (struct tree_key){.leader = started->pid, .start = started->start, .tag = some_tag, .mark = mark};
}

/* Everything that comes until the other side closes, or until it contains the word. */
static const char *read_until(int descriptor, const char *word) {
  static char text[64 * 1024];
  size_t length = 0;
  text[0] = '\0';
  while (!word || !strstr(text, word)) {
    struct pollfd waiting = {.fd = descriptor, .events = POLLIN};
    CHECK(poll(&waiting, 1, PATIENCE_MS) == 1);
    const ssize_t got = read(descriptor, text + length, sizeof text - 1 - length);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break; /* a terminal answers EIO when nobody has it open any more */
    length += (size_t)got;
    text[length] = '\0';
  }
  return text;
}

static int wait_for(pid_t pid) {
  int status;
  CHECK(waitpid(pid, &status, 0) == pid);
  return status;
}

static void close_ends(const struct started *started) {
  if (started->in >= 0) close(started->in);
  if (started->out >= 0) close(started->out);
  if (started->err >= 0) close(started->err);
}

static size_t count_descriptors(void) {
  size_t count = 0;
  for (int descriptor = 0; descriptor < 1024; descriptor += 1) count += fcntl(descriptor, F_GETFD) >= 0;
  return count;
}

/* Reaps all children that ever come, and gives how many were there. */
static size_t reap_all(void) {
  size_t count = 0;
  for (;;) {
    const pid_t pid = waitpid(-1, NULL, 0);
    if (pid > 0) count += 1;
    else if (errno != EINTR) break;
  }
  CHECK(errno == ECHILD);
  return count;
}

/* An emulated kernel may not know of it. */
static void become_subreaper(void) {
  if (prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L) == 0) return;
  CHECK(errno == EINVAL);
  exit(NOT_HERE);
}

static void nap(void) {
  CHECK(poll(NULL, 0, 2) == 0);
}

static size_t count_found(const struct tree_key *key) {
  struct process *found;
  const ssize_t count = tree_find(key, getpid(), &found);
  CHECK(count >= 0);
  free(found);
  return (size_t)count;
}

/* Kills until nothing of the run is left, as the supervisor does. */
static void kill_tree(const struct tree_key *key) {
  for (int tries = 0; count_found(key) > 0; tries += 1) {
    CHECK(tries < PATIENCE_MS / 2);
    tree_signal(key, getpid(), SIGKILL, false);
    nap();
  }
}

static bool contains(const struct tree_key *key, pid_t pid) {
  struct process *found;
  const ssize_t count = tree_find(key, getpid(), &found);
  bool inside = false;
  for (ssize_t at = 0; at < count; at += 1) inside = inside || found[at].pid == pid;
  free(found);
  return inside;
}

/* --- start.h --- */

static void start_streams(void) {
  const struct started started = start_script("cat; echo wrong >&2; echo again >/dev/stdout; echo worse >/dev/stderr; exit 7", true, 0);
  CHECK(fcntl(started.in, F_GETFL) & O_NONBLOCK && fcntl(started.out, F_GETFL) & O_NONBLOCK && fcntl(started.err, F_GETFL) & O_NONBLOCK);
  CHECK(fcntl(started.in, F_GETFD) & FD_CLOEXEC && fcntl(started.out, F_GETFD) & FD_CLOEXEC && fcntl(started.err, F_GETFD) & FD_CLOEXEC);
  CHECK(write(started.in, "hello\n", 6) == 6);
  CHECK(close(started.in) == 0);
  CHECK(strcmp(read_until(started.out, NULL), "hello\nagain\n") == 0);
  CHECK(strcmp(read_until(started.err, NULL), "wrong\nworse\n") == 0);
  const int status = wait_for(started.pid);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static void start_blocking_for_the_command(void) {
  const struct started started = start_script("cat /proc/self/fdinfo/0 /proc/self/fdinfo/1 /proc/self/fdinfo/2 | grep flags", true, 0);
  const char *text = read_until(started.out, NULL);
  for (const char *at = text; (at = strstr(at, "flags:")); at += 6) CHECK((strtoul(at + 6, NULL, 8) & O_NONBLOCK) == 0);
  CHECK(strstr(text, "flags:") != NULL);
  wait_for(started.pid);
}

static void start_no_input(void) {
  const struct started started = start_script("readlink /proc/self/fd/0; cat; echo over", false, 0);
  CHECK(started.in == -1);
  CHECK(strcmp(read_until(started.out, NULL), "/dev/null\nover\n") == 0);
  wait_for(started.pid);
}

static void ignore_me(int number) {
  (void)number;
}

static void start_signals(void) {
  sigset_t some;
  CHECK(signal(SIGUSR1, SIG_IGN) != SIG_ERR && signal(SIGPIPE, SIG_IGN) != SIG_ERR && signal(SIGRTMIN + 5, SIG_IGN) != SIG_ERR);
  CHECK(signal(SIGHUP, ignore_me) != SIG_ERR);
  sigemptyset(&some);
  sigaddset(&some, SIGTERM);
  sigaddset(&some, SIGRTMAX);
  CHECK(sigprocmask(SIG_BLOCK, &some, NULL) == 0);
  char *argv[] = {(char *)"cat", (char *)"/proc/self/status", NULL};
  const struct start_request request = {.argv = argv, .envp = plain_environment, .cwd = root_folder};
  struct started started;
  CHECK(start_command(&request, &started));
  const char *status = read_until(started.out, NULL);
  CHECK(strstr(status, "\nSigBlk:\t0000000000000000\n") && strstr(status, "\nSigIgn:\t0000000000000000\n"));
  wait_for(started.pid);
  sigset_t now;
  CHECK(sigprocmask(SIG_BLOCK, NULL, &now) == 0 && sigismember(&now, SIGTERM) == 1 && sigismember(&now, SIGUSR1) == 0);
  struct sigaction action;
  CHECK(sigaction(SIGHUP, NULL, &action) == 0 && action.sa_handler == ignore_me);
}

static void start_descriptors(void) {
  CHECK(dup2(0, 9) == 9 && dup2(0, 700) == 700);
  const struct started started = start_script("cd /proc/self/fd && echo *", true, 0);
  /* The shell opens no folder of its own while it expands, besides the one that it reads. */
  const char *text = read_until(started.out, NULL);
  CHECK(strncmp(text, "0 1 2", 5) == 0 && !strstr(text, "9") && !strstr(text, "700"));
  wait_for(started.pid);
}

static void start_without_standard_descriptors(void) {
  const int kept = fcntl(2, F_DUPFD_CLOEXEC, 10);
  close(0);
  close(1);
  close(2);
  const struct started started = start_script("cat; echo wrong >&2", true, 0);
  const bool written = write(started.in, "in", 2) == 2;
  close(started.in);
  const bool as_meant = written && strcmp(read_until(started.out, NULL), "in") == 0 && strcmp(read_until(started.err, NULL), "wrong\n") == 0;
  dup2(kept, 2);
  CHECK(as_meant);
  wait_for(started.pid);
}

static void start_session(void) {
  const struct started started = start_script("read line; :", true, 0);
  struct process process;
  CHECK(process_read(started.pid, &process));
  CHECK(process.group == started.pid && process.session == started.pid && process.parent == getpid());
  CHECK(process.start == started.start && started.start > 0);
  close(started.in);
  wait_for(started.pid);
}

static void start_given_state(void) {
  inherited_usually.mask = 0027;
  umask(0077);
  const struct started started = start_script("umask; pwd; grep realtime.timeout /proc/self/limits; env", false, some_tag);
  const char *text = read_until(started.out, NULL);
  CHECK(strncmp(text, "0027\n/\n", 7) == 0);
  char number[32];
  snprintf(number, sizeof number, " %llu ", (unsigned long long)some_tag);
  CHECK(strstr(text, number) && strstr(text, mark_variable) && !strstr(text, "HOME="));
  CHECK(umask(0077) == 0077);
  wait_for(started.pid);
}

static void expect_failure(const char *program, const char *cwd, char *const *envp, enum start_stage stage, int error) {
  char *argv[] = {(char *)(uintptr_t)program, (char *)"argument", NULL};
  const size_t before = count_descriptors();
  const struct start_request request = {.argv = argv, .envp = envp, .cwd = cwd, .wants_input = true};
  struct started started;
  CHECK(!start_command(&request, &started));
  if (started.stage != stage || started.error != error) fprintf(stderr, "%s: stage %d, %s\n", program, (int)started.stage, strerror(started.error));
  CHECK(started.stage == stage && started.error == error);
  CHECK(started.pid == -1 && started.in == -1 && started.out == -1 && started.err == -1);
  CHECK(count_descriptors() == before);
  CHECK(waitpid(-1, NULL, 0) == -1 && errno == ECHILD);
}

static void make_file(const char *path, const char *text, mode_t mode) {
  FILE *file = fopen(path, "w");
  CHECK(file != NULL);
  CHECK(fputs(text, file) >= 0 && fclose(file) == 0 && chmod(path, mode) == 0);
}

static char scratch[] = "/tmp/holdfast-unit-XXXXXX";

static void make_scratch(void) {
  CHECK(mkdtemp(scratch) && chdir(scratch) == 0);
  CHECK(mkdir("first", 0755) == 0 && mkdir("second", 0755) == 0);
}

static void remove_scratch(void) {
  CHECK(chdir("/") == 0);
  char *argv[] = {(char *)"rm", (char *)"-rf", scratch, NULL};
  const struct start_request request = {.argv = argv, .envp = plain_environment, .cwd = root_folder};
  struct started started;
  CHECK(start_command(&request, &started) && wait_for(started.pid) == 0);
}

static void start_failures(void) {
  make_scratch();
  make_file("first/closed", "#!/bin/sh\n", 0644);
  make_file("first/dangling", "#!/no/such/interpreter\n", 0755);
  char path[128];
  snprintf(path, sizeof path, "PATH=%s/first:%s/second", scratch, scratch);
  char *envp[] = {path, NULL};
  expect_failure("no-such-program-anywhere", "/", envp, START_PROGRAM, ENOENT);
  expect_failure("/no/such/program", "/", envp, START_PROGRAM, ENOENT);
  expect_failure("", "/", envp, START_PROGRAM, ENOENT);
  expect_failure("closed", "/", envp, START_PROGRAM, EACCES);
  expect_failure("dangling", "/", envp, START_PROGRAM, ENOENT);
  expect_failure("first/closed", scratch, envp, START_PROGRAM, EACCES);
  expect_failure("/bin/sh", "/no/such/folder", envp, START_CWD, ENOENT);
  expect_failure("/bin/sh", "/bin/sh", envp, START_CWD, ENOTDIR);
  remove_scratch();
}

static void expect_output(const char *program, char *const *envp, const char *cwd, const char *expected) {
  char *argv[] = {(char *)(uintptr_t)program, (char *)"one", NULL};
  const struct start_request request = {.argv = argv, .envp = envp, .cwd = cwd};
  struct started started;
  CHECK(start_command(&request, &started));
  const char *text = read_until(started.out, NULL);
  if (strcmp(text, expected) != 0) fprintf(stderr, "%s: %s", program, text);
  CHECK(strcmp(text, expected) == 0);
  CHECK(wait_for(started.pid) == 0);
  close_ends(&started);
}

static void start_lookup(void) {
  make_scratch();
  make_file("first/tool", "#!/bin/sh\necho never\n", 0644);
  make_file("second/tool", "#!/bin/sh\necho second $1\n", 0755);
  make_file("second/bare", "echo bare $0 $1\n", 0755);
  make_file("here", "#!/bin/sh\necho here\n", 0755);
  char path[256], expected[256];
  snprintf(path, sizeof path, "PATH=/bin/sh:%s/missing:%s/first:%s/second:", scratch, scratch, scratch);
  char *envp[] = {path, NULL};
  expect_output("tool", envp, "/", "second one\n");
  expect_output("here", envp, scratch, "here\n"); /* an empty folder is the working one */
  expect_output("./here", envp, scratch, "here\n");
  snprintf(expected, sizeof expected, "bare %s/second/bare one\n", scratch);
  expect_output("bare", envp, "/", expected);
  char *nothing[] = {NULL};
  expect_output("echo", nothing, "/", "one\n"); /* looked up in /bin:/usr/bin then */
  remove_scratch();
}

static void start_too_long(void) {
  const size_t length = 3 * 1024 * 1024;
  char *huge = malloc(length);
  CHECK(huge != NULL);
  memset(huge, 'x', length - 1);
  huge[length - 1] = '\0';
  char *argv[] = {(char *)"true", huge, NULL};
  const struct start_request request = {.argv = argv, .envp = plain_environment, .cwd = root_folder};
  struct started started;
  CHECK(!start_command(&request, &started));
  CHECK(started.stage == START_PROGRAM && started.error == E2BIG);
  free(huge);
}

static void start_no_descriptors_left(void) {
  const size_t before = count_descriptors();
  for (rlim_t most = 3; most < 16; most += 1) {
    const struct rlimit limit = {.rlim_cur = most, .rlim_max = 1024};
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    char *argv[] = {(char *)"true", NULL};
    const struct start_request request = {.argv = argv, .envp = plain_environment, .cwd = root_folder, .wants_input = true, .pty = most % 2 == 0};
    struct started started;
    if (start_command(&request, &started)) {
      wait_for(started.pid);
      close_ends(&started);
    } else {
      CHECK((started.stage == START_PIPES || started.stage == START_PTY) && started.error == EMFILE);
    }
  }
  CHECK(count_descriptors() == before);
}

static void touch(char *bytes, size_t length, size_t page) {
  for (size_t at = 0; at < length; at += page) bytes[at] += 1;
}

static long count_faults(void) {
  struct rusage usage;
  CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
  return usage.ru_minflt;
}

/* Memory that a fork copies is write-protected by it: then each page that is written to afterwards is a fault. */
static void start_copies_nothing(void) {
  const size_t length = 256 * 1024 * 1024, page = (size_t)sysconf(_SC_PAGESIZE);
  char *ballast = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(ballast != MAP_FAILED);
  madvise(ballast, length, MADV_NOHUGEPAGE);
  touch(ballast, length, page);
  const struct started started = start_script("exit 0", true, 0);
  const long before = count_faults();
  touch(ballast, length, page);
  CHECK(count_faults() - before < 1000);
  wait_for(started.pid);
  /* So it would be seen. */
  const pid_t copy = fork();
  CHECK(copy >= 0);
  if (copy == 0) _exit(0);
  const long forked = count_faults();
  touch(ballast, length, page);
  CHECK(count_faults() - forked > 10000);
  wait_for(copy);
}

static void start_pty(void) {
  char *argv[] = {(char *)"sh", (char *)"-c", (char *)"tty; stty size; test -t 0 && test -t 1 && test -t 2 && echo all; read line; stty size; echo up; read line", NULL};
  const struct start_request request = {.argv = argv, .envp = plain_environment, .cwd = root_folder, .pty = true, .rows = 33, .columns = 101};
  struct started started;
  CHECK(start_command(&request, &started));
  CHECK(started.err == -1 && started.in != started.out && started.in >= 0);
  const char *text = read_until(started.out, "all\r\n");
  CHECK(strstr(text, "/dev/pts/") && strstr(text, "33 101\r\n"));
  CHECK(pty_resize(started.out, 20, 70));
  CHECK(write(started.in, "go\n", 3) == 3);
  /* Only then it starts no more programs: dash loses a signal that comes in the middle of a vfork. */
  CHECK(strstr(read_until(started.out, "up\r\n"), "20 70\r\n"));
  CHECK(write(started.in, "\003", 1) == 1);
  const int status = wait_for(started.pid);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
  close_ends(&started);
}

static void start_many(void) {
  const size_t before = count_descriptors();
  for (int count = 0; count < 200; count += 1) {
    const struct started started = start_script("echo $$", true, some_tag);
    CHECK(atol(read_until(started.out, NULL)) == (long)started.pid);
    CHECK(wait_for(started.pid) == 0);
    close_ends(&started);
  }
  CHECK(count_descriptors() == before);
}

/* --- tree.h --- */

/* Waits until so many processes of the run are there, and so many of them are the sleeps that its shells come to in the end. */
static void await_sleeps(const struct tree_key *key, size_t sleeps, size_t expected) {
  for (int tries = 0;; tries += 1) {
    struct process *found;
    size_t sleeping = 0;
    const ssize_t count = tree_find(key, getpid(), &found);
    for (ssize_t at = 0; at < count; at += 1) sleeping += strcmp(found[at].name, "sleep") == 0;
    free(found);
    if (sleeping == sleeps && count == (ssize_t)expected) return;
    if (tries >= PATIENCE_MS / 2) fprintf(stderr, "%zd found with %zu sleeps, %zu with %zu expected\n", count, sleeping, expected, sleeps);
    CHECK(tries < PATIENCE_MS / 2);
    nap();
  }
}

static void await_found(const struct tree_key *key, size_t expected) {
  for (int tries = 0; count_found(key) != expected; tries += 1) {
    CHECK(tries < PATIENCE_MS / 2);
    nap();
  }
}

static void tree_escapers(void) {
  become_subreaper();
  const struct started started =
      start_script("setsid sh -c 'env -i sleep 1001 & env -i sleep 1002 & wait' & (setsid env -i sleep 1003 &) ; sleep 1004 & echo; exec sleep 1005", false, some_tag);
  const struct tree_key key = key_of(&started);
  await_sleeps(&key, 5, 6);
  CHECK(tree_signal(&key, getpid(), SIGKILL, true) == 6);
  CHECK(reap_all() >= 3);
  CHECK(count_found(&key) == 0);
}

static void tree_by_tag_alone(void) {
  become_subreaper();
  const struct started started = start_script("(setsid env -i sh -c 'echo $$; exec sleep 1000' &)", false, some_tag);
  const pid_t escaped = (pid_t)atol(read_until(started.out, "\n"));
  wait_for(started.pid);
  struct tree_key key = key_of(&started);
  await_found(&key, 1);
  CHECK(contains(&key, escaped));
  key.tag += 1;
  CHECK(count_found(&key) == 0);
  key.tag -= 1;
  CHECK(tree_signal(&key, getpid(), SIGTERM, false) == 1);
  reap_all();
}

static void tree_by_mark_alone(void) {
  become_subreaper();
  const struct started started = start_script("(setsid sh -c 'echo $$; exec sleep 1000' &)", false, 0);
  const pid_t escaped = (pid_t)atol(read_until(started.out, "\n"));
  wait_for(started.pid);
  struct tree_key key = key_of(&started);
  /* In the middle of an exec a process has no environment to read. */
  await_found(&key, 1);
  CHECK(contains(&key, escaped));
  char longer[64], both[64];
  snprintf(longer, sizeof longer, "%s1", mark);
  snprintf(both, sizeof both, "outer/%s", mark);
  const char *others[] = {"mark", "mark-", longer, mark + 1, both, "HOLDFAST_RUN", "", NULL};
  for (const char **other = others; *other; other += 1) {
    key.mark = *other;
    CHECK(!contains(&key, escaped));
  }
  key.mark = mark;
  CHECK(tree_signal(&key, getpid(), SIGKILL, false) == 1);
  reap_all();
}

static void tree_mark_in_large_environment(void) {
  become_subreaper();
  static char large[200][8192];
  char *envp[203];
  for (size_t at = 0; at < 200; at += 1) {
    memset(large[at], 'H', sizeof large[at] - 1 - at); /* so that the mark is cut by the pieces that are read */
    large[at][1] = '=';
    envp[at] = large[at];
  }
  envp[200] = (char *)"XHOLDFAST_RUN=nothing";
  /* More outer runs than are kept of one process. */
  char variable[3000], filling[2000];
  memset(filling, 'o', sizeof filling - 1);
  filling[sizeof filling - 1] = '\0';
  snprintf(variable, sizeof variable, "HOLDFAST_RUN=a/%s/%s/c", filling, mark);
  envp[201] = variable;
  envp[202] = NULL;
  char *argv[] = {(char *)"/bin/sleep", (char *)"1000", NULL};
  const struct start_request request = {.argv = argv, .envp = envp, .cwd = root_folder};
  struct started started;
  CHECK(start_command(&request, &started));
  /* Any other process as leader, so that only the mark tells. */
  const struct tree_key key = {.leader = 1, .start = started.start, .mark = mark};
  /* A new program has its environment a moment later than the parent goes on. */
  for (int tries = 0; !contains(&key, started.pid); tries += 1) {
    CHECK(tries < PATIENCE_MS / 2);
    nap();
  }
  const struct tree_key other = {.leader = 1, .start = started.start, .mark = "nothing"};
  CHECK(!contains(&other, started.pid));
  CHECK(kill(started.pid, SIGKILL) == 0);
  reap_all();
}

static void tree_reused_pid(void) {
  become_subreaper();
  const struct started innocent = start_script("echo; exec sleep 1000", false, 0);
  read_until(innocent.out, "\n");
  /* A record that names this pid with another start time: what was there before. */
  struct tree_key key = {.leader = innocent.pid, .start = innocent.start - 1, .tag = some_tag, .mark = "another"};
  CHECK(count_found(&key) == 0);
  CHECK(tree_signal(&key, getpid(), SIGKILL, true) == 0);
  CHECK(tree_signal(&key, getpid(), SIGKILL, false) == 0);
  key.start = innocent.start + 1;
  CHECK(count_found(&key) == 0 && tree_signal(&key, getpid(), SIGKILL, true) == 0);
  CHECK(kill(innocent.pid, 0) == 0 && waitpid(innocent.pid, NULL, WNOHANG) == 0);
  CHECK(kill(innocent.pid, SIGKILL) == 0);
  wait_for(innocent.pid);
}

/* Asks the kernel for a pid; where that is not allowed, the case cannot be tried. */
static bool ask_for_pid(pid_t pid) {
  FILE *file = fopen("/proc/sys/kernel/ns_last_pid", "w");
  if (!file) return false;
  const bool printed = fprintf(file, "%ld", (long)pid - 1) > 0;
  return fclose(file) == 0 && printed;
}

static void tree_really_reused_pid(void) {
  become_subreaper();
  for (int tries = 0; tries < 100; tries += 1) {
    struct started first = start_script("exit 0", false, some_tag);
    wait_for(first.pid);
    close_ends(&first);
    const struct tree_key key = key_of(&first);
    /* Start times are counted in ticks of 10 ms. */
    CHECK(poll(NULL, 0, 25) == 0);
    if (!ask_for_pid(first.pid)) exit(NOT_HERE);
    char *argv[] = {(char *)"sh", (char *)"-c", (char *)"sleep 1000 & echo; wait", NULL};
    char *envp[] = {plain_environment[0], NULL};
    const struct start_request request = {.argv = argv, .envp = envp, .cwd = root_folder, .tag = some_tag + 1};
    struct started second;
    CHECK(start_command(&request, &second));
    read_until(second.out, "\n");
    const struct tree_key its = {.leader = second.pid, .start = second.start, .tag = some_tag + 1, .mark = "none"};
    const bool reused = second.pid == first.pid;
    const size_t hit = tree_signal(&key, getpid(), SIGKILL, false);
    const size_t left = count_found(&its);
    /* Also when its leader has gone after the first one. */
    CHECK(kill(second.pid, SIGKILL) == 0);
    wait_for(second.pid);
    const size_t hit_later = tree_signal(&key, getpid(), SIGKILL, false);
    await_found(&its, 1);
    kill_tree(&its);
    reap_all();
    close_ends(&second);
    CHECK(hit == 0 && left == 2 && hit_later == 0);
    if (reused) return;
  }
  exit(NOT_HERE);
}

/* The kernel begins anew with low pids; here it is told to. */
static void tree_lower_pid(void) {
  become_subreaper();
  for (int tries = 0; tries < 100; tries += 1) {
    const struct started started = start_script("read line; setsid env -i sleep 1001 & echo $!; exec sleep 1000", true, some_tag);
    const struct tree_key key = key_of(&started);
    /* It must be far enough, because others start processes meanwhile. */
    const pid_t lower = started.pid - 3000;
    if (lower <= 300 || !ask_for_pid(lower)) exit(NOT_HERE);
    CHECK(write(started.in, "go\n", 3) == 3);
    const pid_t child = (pid_t)atol(read_until(started.out, "\n"));
    if (child < started.pid) await_sleeps(&key, 2, 2);
    kill_tree(&key);
    reap_all();
    close_ends(&started);
    if (child < started.pid) return;
  }
  exit(NOT_HERE);
}

static void tree_group_without_leader(void) {
  become_subreaper();
  /* Clears its environment and stays in the group; without a tag, only the group tells. */
  const struct started started = start_script("env -i sleep 1000 & echo", false, 0);
  read_until(started.out, "\n");
  wait_for(started.pid);
  struct tree_key key = key_of(&started);
  key.tag = 0;
  await_found(&key, 1);
  CHECK(tree_signal(&key, getpid(), SIGTERM, false) == 1);
  reap_all();
}

static void tree_stopped(void) {
  become_subreaper();
  const struct started started = start_script("setsid sleep 1000 & sleep 1001 & echo; exec sleep 1002", false, some_tag);
  const struct tree_key key = key_of(&started);
  await_sleeps(&key, 3, 3);
  CHECK(tree_signal(&key, getpid(), SIGSTOP, true) == 3);
  int status;
  CHECK(waitpid(started.pid, &status, WUNTRACED) == started.pid && WIFSTOPPED(status));
  struct process process;
  CHECK(process_read(started.pid, &process) && process.state == 'T' && !process_busy(&process));
  CHECK(tree_signal(&key, getpid(), SIGTERM, true) == 3);
  CHECK(reap_all() == 3);
}

static void tree_cleanup_is_spared(void) {
  become_subreaper();
  const struct started started =
      start_script("trap 'setsid sh -c \"sleep 0.2; echo cleaned\"; exit 3' TERM; echo ready; read line", true, some_tag);
  read_until(started.out, "ready\n");
  const struct tree_key key = key_of(&started);
  tree_signal(&key, getpid(), SIGTERM, true);
  CHECK(strstr(read_until(started.out, "cleaned\n"), "cleaned\n"));
  const int status = wait_for(started.pid);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
  reap_all();
}

static void tree_names(void) {
  const char *names[] = {"a) R 1 1 1 (b", ")", "(", "new\nline) Z 0", "", "back\\slash", "exactly fifteen", NULL};
  for (const char **name = names; *name; name += 1) {
    const pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
      prctl(PR_SET_NAME, *name, 0L, 0L, 0L);
      raise(SIGSTOP);
      _exit(0);
    }
    int status;
    CHECK(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
    struct process process;
    CHECK(process_read(pid, &process));
    CHECK(strcmp(process.name, *name) == 0 && process.state == 'T' && process.parent == getpid() && process.start > 0);
    kill(pid, SIGKILL);
    wait_for(pid);
  }
}

static void *linger(void *unused) {
  (void)unused;
  for (;;) pause();
  return NULL;
}

static void tree_first_thread_over(void) {
  int told[2];
  CHECK(pipe(told) == 0);
  const pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) {
    pthread_t thread;
    setsid();
    if (pthread_create(&thread, NULL, linger, NULL) != 0 || write(told[1], "x", 1) != 1) _exit(1);
    pthread_exit(NULL);
  }
  char byte;
  CHECK(read(told[0], &byte, 1) == 1);
  struct process process = {0};
  char path[64], text[512];
  snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
  do {
    FILE *file = fopen(path, "r");
    CHECK(file && fgets(text, sizeof text, file) && fclose(file) == 0);
  } while (!strstr(text, ") Z "));
  CHECK(process_read(pid, &process) && process.state == 'S');
  const struct tree_key key = {.leader = pid, .start = process.start, .tag = 0, .mark = NULL};
  CHECK(count_found(&key) == 1);
  CHECK(tree_signal(&key, getpid(), SIGKILL, true) == 1);
  wait_for(pid);
  CHECK(!process_read(pid, &process));
}

static void *toil(void *unused) {
  (void)unused;
  for (volatile unsigned count = 0;; count += 1) continue;
  return NULL;
}

static void tree_busy_thread(void) {
  const pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, toil, NULL) != 0) _exit(1);
    pthread_join(thread, NULL);
  }
  struct process process;
  int tries = 0;
  do {
    CHECK(tries++ < PATIENCE_MS / 2 && process_read(pid, &process));
    nap();
  } while (process.state != 'S' || !process_busy(&process));
  CHECK(kill(pid, SIGKILL) == 0);
  wait_for(pid);
}

/* The mark is in the environment that this program was started with; see native.test.ts. */
static void tree_supervisor_is_left_out(void) {
  become_subreaper();
  struct process self, parent;
  const char *own = getenv("HOLDFAST_RUN");
  CHECK(own && strcmp(own, "self") == 0);
  CHECK(process_read(getpid(), &self) && process_read(getppid(), &parent));
  const struct tree_key by_mark = {.leader = 1, .start = 1, .tag = 0, .mark = "self"};
  const struct tree_key as_leader = {.leader = getpid(), .start = self.start, .tag = 0, .mark = NULL};
  const struct tree_key parent_as_leader = {.leader = parent.pid, .start = parent.start, .tag = 0, .mark = NULL};
  const struct tree_key *keys[] = {&by_mark, &as_leader, &parent_as_leader};
  for (size_t at = 0; at < 3; at += 1) CHECK(!contains(keys[at], getpid()) && !contains(keys[at], getppid()));
  CHECK(tree_signal(&as_leader, getpid(), SIGTERM, false) == 0);
}

static void tree_empty(void) {
  become_subreaper();
  const pid_t self = getpid();
  CHECK(tree_surely_empty(self, NULL, 0));
  struct started some[3];
  pid_t known[3];
  for (size_t at = 0; at < 3; at += 1) {
    some[at] = start_script("sleep 1000 & echo; exec sleep 1001", false, some_tag + at);
    read_until(some[at].out, "\n");
    known[at] = some[at].pid;
  }
  for (size_t at = 1; at < 3; at += 1) CHECK(known[at] > known[at - 1]);
  CHECK(tree_surely_empty(self, known, 3));
  CHECK(!tree_surely_empty(self, known, 2) && !tree_surely_empty(self, known + 1, 2) && !tree_surely_empty(self, NULL, 0));
  const struct tree_key key = {.leader = some[1].pid, .start = some[1].start, .tag = some_tag + 1, .mark = NULL};
  CHECK(kill(some[1].pid, SIGKILL) == 0);
  wait_for(some[1].pid);
  /* What it left is a child of ours now. */
  const pid_t others[] = {known[0], known[2]};
  CHECK(!tree_surely_empty(self, others, 2));
  kill_tree(&key);
  while (!tree_surely_empty(self, others, 2)) CHECK(waitpid(-1, NULL, 0) > 0);
  CHECK(descendants_signal(self, SIGKILL) == 4);
  reap_all();
  CHECK(tree_surely_empty(self, NULL, 0));
  CHECK(!tree_surely_empty(self + 1000000, NULL, 0));
}

/* Two runs and a stranger, of which one look is shared. */
static void tree_shared(void) {
  become_subreaper();
  const struct started one = start_script("sleep 1000 & echo; exec sleep 1001", false, some_tag);
  const struct started other = start_script("exec sleep 1000", false, some_tag + 1);
  const struct tree_key first = {.leader = one.pid, .start = one.start, .tag = some_tag, .mark = NULL};
  const struct tree_key second = {.leader = other.pid, .start = other.start, .tag = some_tag + 1, .mark = NULL};
  read_until(one.out, "\n");
  tree_share_begin();
  /* The second one has the higher pid, so that the first look does not go far enough down for the other. */
  CHECK(count_found(&second) == 1 && count_found(&first) == 2);
  CHECK(contains(&first, one.pid) && contains(&second, other.pid) && !contains(&first, other.pid));
  const struct started late = start_script("exec sleep 1000", false, some_tag + 2);
  const struct tree_key third = {.leader = late.pid, .start = late.start, .tag = some_tag + 2, .mark = NULL};
  tree_share_anew();
  CHECK(count_found(&third) == 1 && count_found(&first) == 2);
  CHECK(tree_signal(&first, getpid(), SIGKILL, true) == 2);
  wait_for(one.pid);
  tree_share_anew();
  for (int tries = 0; count_found(&first) > 0; tries += 1) {
    CHECK(tries < PATIENCE_MS / 2);
    nap();
    tree_share_anew();
  }
  CHECK(count_found(&second) == 1);
  tree_share_end();
  CHECK(tree_signal(&second, getpid(), SIGKILL, true) == 1 && tree_signal(&third, getpid(), SIGKILL, true) == 1);
  reap_all();
  CHECK(count_found(&second) == 0);
}

static void tree_descendants(void) {
  become_subreaper();
  const struct started one = start_script("setsid sh -c 'env -i sleep 1001 & echo; wait' & (setsid sleep 1002 &); wait", false, some_tag);
  const struct started two = start_script("echo; exec sleep 1003", false, some_tag + 1);
  read_until(one.out, "\n");
  read_until(two.out, "\n");
  struct tree_key first = key_of(&one);
  first.mark = NULL;
  await_sleeps(&first, 2, 4);
  CHECK(descendants_signal(getpid(), SIGTERM) == 5);
  reap_all();
  CHECK(descendants_signal(getpid(), SIGKILL) == 0);
}

static void tree_ages(void) {
  const struct started started = start_script("echo; exec sleep 1000", false, 0);
  struct process process;
  char text[40], boot[64] = "";
  CHECK(process_read(started.pid, &process));
  const uint64_t first = process_age_ms(&process);
  CHECK(first < PATIENCE_MS);
  CHECK(poll(NULL, 0, 40) == 0);
  const uint64_t second = process_age_ms(&process);
  CHECK(second >= first + 40 && second < first + PATIENCE_MS);
  process_identity(process.start, text);
  FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
  CHECK(file && fgets(boot, sizeof boot, file) && fclose(file) == 0);
  CHECK(strncmp(text, boot, 8) == 0 && text[8] == ':' && strtoull(text + 9, NULL, 10) == process.start);
  process_identity(UINT64_MAX, text);
  CHECK(strlen(text) < 40 && strcmp(text + 8, ":18446744073709551615") == 0);
  CHECK(kill(started.pid, SIGKILL) == 0);
  wait_for(started.pid);
}

/* Grows a tree whose members leave their group, their session, their parent and their environment as chance has it; each living one
   writes a byte when it is there. */
static unsigned chance(unsigned *seed) {
  *seed = *seed * 1103515245 + 12345;
  return *seed >> 16;
}

static void grow(unsigned seed, int depth, int told) {
  const unsigned children = 1 + chance(&seed) % 3;
  for (unsigned at = 0; at < children && depth > 0; at += 1) {
    const unsigned next = chance(&seed);
    if (fork() != 0) continue;
    unsigned own = next;
    if (chance(&own) % 2) setsid();
    grow(own, depth - 1, told);
    _exit(0);
  }
  if (depth > 0 && chance(&seed) % 3 == 0) return; /* its children lose their parent */
  if (write(told, "x", 1) != 1) _exit(1);
  execle("/bin/sleep", "sleep", "1000", (char *)NULL, chance(&seed) % 2 ? (char *const[]){NULL} : plain_environment);
  _exit(1);
}

static void tree_random(void) {
  become_subreaper();
  for (unsigned seed = 1; seed <= 12; seed += 1) {
    int told[2];
    CHECK(pipe2(told, O_CLOEXEC) == 0);
    const pid_t leader = fork();
    CHECK(leader >= 0);
    if (leader == 0) {
      const struct rlimit limit = {.rlim_cur = some_tag + seed, .rlim_max = RLIM_INFINITY};
      setsid();
      setrlimit(RLIMIT_RTTIME, &limit);
      grow(seed, 4, told[1]);
      _exit(0);
    }
    close(told[1]);
    struct process process;
    CHECK(process_read(leader, &process));
    size_t living = 0;
    /* The pipe is closed by the exec, so its end comes when each is a sleep or over. */
    for (char byte; read(told[0], &byte, 1) == 1;) living += 1;
    close(told[0]);
    const struct tree_key key = {.leader = leader, .start = process.start, .tag = some_tag + seed, .mark = mark};
    await_found(&key, living);
    CHECK(living > 0 && tree_signal(&key, getpid(), SIGKILL, true) == living);
    reap_all();
  }
}

/* Everything that forks without end is caught by killing again and again, as the supervisor does. */
static void tree_forking(void) {
  become_subreaper();
  const struct started started =
      start_script("f() { while :; do (setsid sh -c 'env -i sleep 0.05; :' &); done; }; f & f & echo; exec sleep 1000", false, some_tag);
  read_until(started.out, "\n");
  const struct tree_key key = key_of(&started);
  while (count_found(&key) < 8) nap();
  for (int tries = 0; count_found(&key) > 0; tries += 1) {
    CHECK(tries < 500);
    tree_signal(&key, getpid(), SIGKILL, tries == 0);
    while (waitpid(-1, NULL, WNOHANG) > 0) continue;
  }
  reap_all();
}

static const struct {
  const char *name;
  void (*run)(void);
} cases[] = {
    {"start-streams", start_streams},
    {"start-blocking-for-the-command", start_blocking_for_the_command},
    {"start-no-input", start_no_input},
    {"start-signals", start_signals},
    {"start-descriptors", start_descriptors},
    {"start-without-standard-descriptors", start_without_standard_descriptors},
    {"start-session", start_session},
    {"start-given-state", start_given_state},
    {"start-failures", start_failures},
    {"start-lookup", start_lookup},
    {"start-too-long", start_too_long},
    {"start-no-descriptors-left", start_no_descriptors_left},
    {"start-copies-nothing", start_copies_nothing},
    {"start-pty", start_pty},
    {"start-many", start_many},
    {"tree-escapers", tree_escapers},
    {"tree-by-tag-alone", tree_by_tag_alone},
    {"tree-by-mark-alone", tree_by_mark_alone},
    {"tree-mark-in-large-environment", tree_mark_in_large_environment},
    {"tree-reused-pid", tree_reused_pid},
    {"tree-really-reused-pid", tree_really_reused_pid},
    {"tree-lower-pid", tree_lower_pid},
    {"tree-group-without-leader", tree_group_without_leader},
    {"tree-stopped", tree_stopped},
    {"tree-cleanup-is-spared", tree_cleanup_is_spared},
    {"tree-names", tree_names},
    {"tree-first-thread-over", tree_first_thread_over},
    {"tree-busy-thread", tree_busy_thread},
    {"tree-supervisor-is-left-out", tree_supervisor_is_left_out},
    {"tree-empty", tree_empty},
    {"tree-shared", tree_shared},
    {"tree-descendants", tree_descendants},
    {"tree-ages", tree_ages},
    {"tree-random", tree_random},
    {"tree-forking", tree_forking},
};

/* A case that fails or hangs leaves nothing behind. */
static void clean_up(void) {
  descendants_signal(getpid(), SIGKILL);
}

static void too_late(int number) {
  (void)number;
  static const char text[] = "the case takes too long\n";
  if (write(2, text, sizeof text - 1) < 0) _exit(2);
  clean_up();
  _exit(1);
}

int main(int count, char **arguments) {
  some_tag = (UINT64_C(1) << 62) + (uint64_t)getpid() * 1000;
  snprintf(mark, sizeof mark, "mark-%ld", (long)getpid());
  strcat(mark_variable, mark);
  for (size_t at = 0; at < sizeof cases / sizeof *cases; at += 1) {
    if (count == 1) puts(cases[at].name);
    if (count != 2 || strcmp(arguments[1], cases[at].name) != 0) continue;
    /* So that what loses its parent is found by clean_up. */
    prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L);
    atexit(clean_up);
    signal(SIGALRM, too_late);
    alarm(2 * PATIENCE_MS / 1000);
    cases[at].run();
    return 0;
  }
  return count == 1 ? 0 : 2;
}
