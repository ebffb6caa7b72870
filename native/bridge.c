#include "bridge.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "folders.h"
#include "timers.h"

enum { CARRY_BYTES = 256 * 1024, WORD_BYTES = 256 };
/* For everything together until the supervisor serves. */
static const int64_t reach_us = 8000000;
static const long pause_ns = 10000000;

static int fail(const char *what, const char *why) {
  fprintf(stderr, "holdfast-supervisor: %s: %s\n", what, why);
  return 1;
}

/* ---- reaching the supervisor ---- */

/* A connection, or -1 with errno. */
static int dial(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  strcpy(address.sun_path, path);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  if (connect(fd, (const struct sockaddr *)&address, sizeof address) == 0) return fd;
  int error = errno;
  close(fd);
  errno = error;
  return -1;
}

/* Another user could have put a socket there; root serves nobody else's. */
static bool is_ours(int connection) {
  struct ucred peer;
  socklen_t length = sizeof peer;
  return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == geteuid();
}

/* Becomes the supervisor. What it has to say goes to `out`, what is wrong to standard error. */
__attribute__((noreturn)) static void become_supervisor(const struct bridge_request *request, int out) {
  char idle[24];
  char name[] = "holdfast-supervisor", socket_option[] = "--socket", home_option[] = "--home", idle_option[] = "--idle-ms", apart_option[] = "--apart";
  char *argv[] = {name, socket_option, strdup(request->socket), home_option, strdup(request->home), idle_option, idle, apart_option, NULL};
  char *envp[] = {NULL};
  snprintf(idle, sizeof idle, "%" PRIu64, request->idle_ms);
  int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  if (nothing >= 0 && argv[2] && argv[4] && dup2(nothing, 0) == 0 && dup2(out, 1) == 1) execve("/proc/self/exe", argv, envp);
  fail("the supervisor cannot be started", strerror(errno));
  _exit(1);
}

/* Whether it, or another one, serves, as far as it said so in time. */
static bool start_supervisor(const struct bridge_request *request, int64_t until_us) {
  int word[2];
  if (pipe2(word, O_CLOEXEC) != 0) return false;
  pid_t child = fork();
  if (child == 0) become_supervisor(request, word[1]);
  close(word[1]);
  char said[WORD_BYTES];
  size_t length = 0;
  while (child > 0 && length < sizeof said && !memchr(said, '\n', length)) {
    struct pollfd waiting = {.fd = word[0], .events = POLLIN};
    int64_t left_ms = (until_us - clock_us()) / 1000;
    if (left_ms <= 0) break;
    if (poll(&waiting, 1, (int)left_ms) < 0 && errno != EINTR) break;
    if (waiting.revents == 0) continue;
    ssize_t got = read(word[0], said + length, sizeof said - length);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    length += (size_t)got;
  }
  close(word[0]);
  /* It left for a life of its own, or could not begin. */
  if (child > 0) waitpid(child, NULL, length > 0 ? 0 : WNOHANG);
  return (length >= 6 && memcmp(said, "ready\n", 6) == 0) || (length >= 6 && memcmp(said, "taken\n", 6) == 0);
}

/* A connection; -1 where it was said why there is none. */
static int reach(const struct bridge_request *request) {
  int64_t until_us = clock_us() + reach_us;
  for (;;) {
    int fd = dial(request->socket);
    if (fd >= 0) {
      if (is_ours(fd)) return fd;
      close(fd);
      fail(request->socket, "belongs to another user");
      return -1;
    }
    if (errno != ENOENT && errno != ECONNREFUSED && errno != EAGAIN && errno != EINTR) {
      fail(request->socket, strerror(errno));
      return -1;
    }
    bool busy = errno == EAGAIN || errno == EINTR;
    if (!request->home && (!busy || clock_us() >= until_us)) {
      fail(request->socket, "no supervisor serves there");
      return -1;
    }
    /* Who has the lock may be beginning, or just ending. */
    bool begun = busy || start_supervisor(request, until_us);
    if (!begun || clock_us() >= until_us) {
      fail(request->socket, begun ? "nobody answers there in time" : "no supervisor could be started");
      return -1;
    }
    const struct timespec time = {.tv_nsec = pause_ns};
    nanosleep(&time, NULL);
  }
}

/* ---- carrying ---- */

/* Bytes on the way in one direction. */
struct lane {
  int from, to;
  uint8_t *bytes;
  size_t start, end;
  bool ended;   /* nothing more comes */
  bool closed;  /* the other side knows */
};

static bool lane_has(const struct lane *lane) {
  return lane->end > lane->start;
}

static bool may_wait(void) {
  return errno == EAGAIN || errno == EINTR;
}

static void lane_read(struct lane *lane) {
  ssize_t got = read(lane->from, lane->bytes, CARRY_BYTES);
  if (got < 0 && may_wait()) return;
  if (got <= 0) lane->ended = true;
  else lane->start = 0, lane->end = (size_t)got;
}

/* False where nobody takes it any more. */
static bool lane_write(struct lane *lane) {
  ssize_t put = write(lane->to, lane->bytes + lane->start, lane->end - lane->start);
  if (put < 0) return may_wait();
  lane->start += (size_t)put;
  return true;
}

static void be_patient(int fd) {
  int flags = fcntl(fd, F_GETFL);
  if (flags >= 0) fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

/* Until the supervisor has closed and all that it said is written, or nobody reads that. */
static void carry(struct lane *up, struct lane *down) {
  be_patient(up->from);
  be_patient(up->to);
  be_patient(down->to);
  for (;;) {
    if (up->ended && !lane_has(up) && !up->closed) {
      shutdown(up->to, SHUT_WR);
      up->closed = true;
    }
    if (down->ended && !lane_has(down)) return;
    /* poll(2) passes over a negative descriptor. */
    struct pollfd waiting[] = {
      {.fd = up->ended || lane_has(up) ? -1 : up->from, .events = POLLIN},
      {.fd = lane_has(up) ? up->to : -1, .events = POLLOUT},
      {.fd = down->ended || lane_has(down) ? -1 : down->from, .events = POLLIN},
      /* Also to see that nobody reads any more. */
      {.fd = down->to, .events = lane_has(down) ? POLLOUT : 0},
    };
    if (poll(waiting, 4, -1) < 0) {
      if (errno == EINTR) continue;
      return;
    }
    if (waiting[0].revents) lane_read(up);
    if (waiting[1].revents && !lane_write(up)) up->start = up->end, up->ended = true;
    if (waiting[2].revents) lane_read(down);
    if (waiting[3].revents & (POLLERR | POLLNVAL)) return;
    if (waiting[3].revents && lane_has(down) && !lane_write(down)) return;
  }
}

int bridge(const struct bridge_request *request) {
  signal(SIGPIPE, SIG_IGN);
  if (request->home && !folders_make_above(request->socket)) return fail(request->socket, strerror(errno));
  if (request->home && !folders_make(request->home)) return fail(request->home, strerror(errno));
  int supervisor = reach(request);
  if (supervisor < 0) return 1;
  struct lane up = {.from = STDIN_FILENO, .to = supervisor, .bytes = malloc(CARRY_BYTES)};
  struct lane down = {.from = supervisor, .to = STDOUT_FILENO, .bytes = malloc(CARRY_BYTES)};
  if (!up.bytes || !down.bytes) return fail("bridge", strerror(ENOMEM));
  carry(&up, &down);
  free(up.bytes);
  free(down.bytes);
  close(supervisor);
  return 0;
}
