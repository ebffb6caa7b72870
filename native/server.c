#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "controller.h"
#include "fault.h"
#include "host.h"
#include "run.h"
#include "signals.h"

enum { MOST_EVENTS = 64, USUAL_DESCRIPTORS = 1024, MOST_SPARED = 64, LOGS_OF_A_RUN = 3 /* both streams, and their order */ };
static const int64_t second_us = 1000000, hundred_years_ms = INT64_C(3155760000000);
/* Whoever finds the place taken and nobody at the door waits for three seconds. */
static const int64_t look_us = 2000000;

bool server_watch(struct server *server, struct source *source, uint32_t events) {
  struct epoll_event event = {.events = events, .data.ptr = source};
  return epoll_ctl(server->epoll, EPOLL_CTL_ADD, source->fd, &event) == 0;
}

bool server_rewatch(struct server *server, struct source *source, uint32_t events) {
  struct epoll_event event = {.events = events, .data.ptr = source};
  return epoll_ctl(server->epoll, EPOLL_CTL_MOD, source->fd, &event) == 0;
}

void server_unwatch(struct server *server, struct source *source) {
  epoll_ctl(server->epoll, EPOLL_CTL_DEL, source->fd, NULL);
}

void server_soon(struct server *server, struct timer *timer) {
  timer_set(&server->timers, timer, server->now_us + 1);
}

void server_after(struct server *server, struct timer *timer, int64_t us) {
  timer_set(&server->timers, timer, server->now_us + (us > 1 ? us : 1));
}

int64_t ms_to_us(uint64_t ms) {
  return ms < (uint64_t)hundred_years_ms ? (int64_t)ms * 1000 : hundred_years_ms * 1000;
}

/* ---- children ---- */

struct reaped {
  struct run *run;
  int status;
  struct rusage usage;
};

/* Waits for some of those that are over. True where there may be more of them. */
static bool reap_some(struct server *server, struct reaped *reaped, size_t room, size_t *count) {
  *count = 0;
  while (*count < room) {
    struct reaped *next = &reaped[*count];
    pid_t pid = wait4(-1, &next->status, WNOHANG, &next->usage);
    if (pid < 0 && errno == EINTR) continue;
    if (pid <= 0) {
      server->childless = pid < 0 && errno == ECHILD && tree_gets_orphans();
      return false;
    }
    server->reaped_any = true;
    /* Whatever lost its parent is ours, too, and is waited for silently. */
    next->run = children_take(&server->children, pid);
    if (next->run) *count += 1;
  }
  return true;
}

bool server_has_no_stranger(const struct server *server) {
  return server->childless || tree_surely_empty(server->self, server->children.pids, server->children.count);
}

/* All of them are waited for first: where no child is left, nothing is left of any of their runs either. */
static void reap(struct server *server) {
  struct reaped reaped[16];
  size_t count;
  bool more;
  server->reaped_any = false;
  do {
    more = reap_some(server, reaped, sizeof reaped / sizeof *reaped, &count);
    /* Until their end they may have forked. */
    tree_share_anew();
    for (size_t at = 0; at < count; at += 1) run_exited(reaped[at].run, reaped[at].status, &reaped[at].usage);
  } while (more);
  if (!server->reaped_any) return;
  for (struct run *run = server->runs; run; run = run->next) run_look_again(run);
}

static void signals_ready(struct source *source, uint32_t events) {
  (void)events;
  struct server *server = owner_of(source, struct server, signals);
  struct signalfd_siginfo infos[16];
  bool children = false, stop = false;
  ssize_t got = read(source->fd, infos, sizeof infos);
  for (ssize_t at = 0; got > 0 && at < got / (ssize_t)sizeof *infos; at += 1) {
    if (infos[at].ssi_signo == SIGCHLD) children = true;
    else stop = true;
  }
  if (children) reap(server);
  if (stop) server_stop(server);
}

void server_stop(struct server *server) {
  int signal = server->stopping ? SIGKILL : SIGTERM;
  server->stopping = true;
  FAULT("asked-to-end", 0);
  for (struct run *run = server->runs, *next; run; run = next) {
    next = run->next;
    if (run->phase == RUN_RUNNING) {
      run_cut(run, CUT_CANCELED, 0, signal, run->grace_us);
    } else if (run->ladder.active) {
      const struct stop_request request = {.signal = signal};
      run_stop(run, &request, NULL);
    } else if (run->phase == RUN_ENDED) {
      run_let_go(run);
    }
  }
}

/* ---- connections ---- */

bool server_can_spare(const struct server *server, int fd) {
  /* For the tails of logs, and for looking at processes. */
  size_t others = server->descriptors / 4 < MOST_SPARED ? server->descriptors / 4 : MOST_SPARED;
  return (size_t)fd + server->held_count * LOGS_OF_A_RUN + others < server->descriptors;
}

/* Only its own user may speak to a supervisor, and root, which could do everything anyway. */
static const char *refuse_peer(const struct server *server, int fd) {
  struct ucred peer;
  socklen_t length = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 || (peer.uid != geteuid() && peer.uid != 0)) return "unauthenticated";
  return server->controller_count >= MOST_CONTROLLERS || !server_can_spare(server, fd) ? "exhausted" : NULL;
}

/* Without a free descriptor the connection would wait, and wake the loop, for ever. */
static void refuse_without_descriptors(struct server *server) {
  if (server->spare < 0) return;
  close(server->spare);
  int fd = accept4(server->door.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd >= 0) close(fd);
  server->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void door_ready(struct source *source, uint32_t events) {
  (void)events;
  struct server *server = owner_of(source, struct server, door);
  int fd = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) {
    if (errno == EMFILE || errno == ENFILE) refuse_without_descriptors(server);
    return;
  }
  controller_open_socket(server, fd, refuse_peer(server, fd));
}

/* ---- records that no disk took ---- */

static void retry_due(struct timer *timer) {
  struct server *server = owner_of(timer, struct server, retry);
  server->unsaved_worth_staying = unsaved_retry(&server->unsaved, server->now_us);
  if (server->unsaved.first) server_after(server, &server->retry, second_us);
}

void server_save(struct server *server, struct run *run, const struct record_texts *texts) {
  bool alone = run->record.leftover_count == 0 && !run->record.late;
  record_save(&server->unsaved, run->folder, run->id, texts, alone, server->now_us);
  if (!server->unsaved.first || server->retry.is_set) return;
  server->unsaved_worth_staying = true;
  server_after(server, &server->retry, second_us);
}

/* ---- the place ---- */

static bool is_idle(const struct server *server) {
  return server->held_count == 0 && !controllers_are_there(server) && !server->unsaved_worth_staying;
}

/* A home that was never there may only be unwritable. */
static bool home_is_gone(struct server *server) {
  struct stat found;
  if (!server->home) return false;
  if (lstat(server->home, &found) == 0) server->home_was_there = true;
  else if (errno == ENOENT || errno == ENOTDIR) return server->home_was_there;
  return false;
}

/* Somebody may have removed the socket, or its folder: who is needed makes it anew, and who is not ends rather than wait where nobody
   finds it. So it is with the home, for which there is nothing to do any more. */
static void look_due(struct timer *timer) {
  struct server *server = owner_of(timer, struct server, look);
  FAULT("place-looked-after", 0);
  bool stands = place_stands(server->place);
  /* Who left before it was removed may not be known to have left in this turn, and is in the next one. */
  bool is_news = !stands && !server->place_was_missed;
  server->place_was_missed = is_news;
  if (is_news) {
    server_soon(server, timer);
    return;
  }
  server_after(server, timer, look_us);
  if (is_idle(server)) {
    if (!stands || home_is_gone(server)) server->over = true;
    return;
  }
  if (stands) return;
  server_unwatch(server, &server->door);
  (void)place_renew(server->place);
  server->door.fd = server->place->door;
  (void)server_watch(server, &server->door, EPOLLIN);
}

/* ---- the loop ---- */

static void idle_due(struct timer *timer) {
  owner_of(timer, struct server, idle)->over = true;
  FAULT("idle-over", 0);
}

/* Whether to stay: an end needs that nobody is there, for some time. */
static void watch_idleness(struct server *server) {
  if (server->closing) return;
  if (server->stopping) {
    if (server->held_count == 0) server->over = true;
  } else if (!is_idle(server)) {
    timer_clear(&server->timers, &server->idle);
  } else if (!server->idle.is_set) {
    runs_prune(server);
    server_after(server, &server->idle, server->idle_us);
  }
}

static void turn(struct server *server) {
  struct epoll_event events[MOST_EVENTS];
  int count = epoll_wait(server->epoll, events, MOST_EVENTS, timers_wait_ms(&server->timers, clock_us()));
  server->now_us = clock_us();
  server->childless = false;
  tree_share_begin();
  /* In their order: the kernel lists the pipes as they became readable, which is how the order of arrival is known without notes of it. */
  for (int at = 0; at < count; at += 1) {
    struct source *source = events[at].data.ptr;
    if (source->fd >= 0) source->ready(source, events[at].events);
  }
  timers_fire(&server->timers, server->now_us);
  controllers_flush(server);
  watch_idleness(server);
  runs_free_forgotten(server);
  tree_share_end();
}

void server_run(struct server *server) {
  while (!server->over) turn(server);
  /* The last words, to whoever reads them within a second. */
  server->over = false;
  server->closing = true;
  if (server->door.fd >= 0) server_unwatch(server, &server->door);
  timer_clear(&server->timers, &server->look);
  server_after(server, &server->idle, second_us);
  while (!server->over && controllers_have_waiting(server)) turn(server);
}

bool server_open(struct server *server, struct place *place, const char *home, int notes, int64_t idle_us) {
  memset(server, 0, sizeof *server);
  server->self = getpid();
  server->now_us = clock_us();
  server->idle_us = idle_us;
  struct rlimit limit = {.rlim_cur = USUAL_DESCRIPTORS};
  getrlimit(RLIMIT_NOFILE, &limit);
  server->descriptors = limit.rlim_cur < INT_MAX ? (size_t)limit.rlim_cur : INT_MAX;
  server->place = place;
  server->home = home;
  server->door = (struct source){.fd = place ? place->door : -1, .ready = door_ready};
  server->retry.due = retry_due;
  server->idle.due = idle_due;
  server->look.due = look_due;
  /* Tags of two supervisors must differ as well: what one left behind may live while the next one serves. */
  uint64_t random = 0;
  if (getrandom(&random, sizeof random, GRND_NONBLOCK) != (ssize_t)sizeof random) random = (uint64_t)clock_us() * 1000003U + (uint64_t)server->self;
  server->next_tag = (UINT64_C(1) << 62) + (random >> 3);
  sigset_t signals;
  awaited_signals(&signals);
  server->arrivals.notes = notes;
  server->epoll = epoll_create1(EPOLL_CLOEXEC);
  server->signals = (struct source){.fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK), .ready = signals_ready};
  server->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
  memory_open(&server->memory);
  if (server->epoll < 0 || server->signals.fd < 0 || server->spare < 0) return false;
  if (!server_watch(server, &server->signals, EPOLLIN)) return false;
  if (!place) return true;
  (void)home_is_gone(server);
  server_after(server, &server->look, look_us);
  return server_watch(server, &server->door, EPOLLIN);
}

bool server_serve_stream(struct server *server, int in, int out) {
  return controller_open_stream(server, in, out);
}

void server_close(struct server *server) {
  controllers_close_all(server);
  while (server->runs) run_forget(server->runs);
  runs_free_forgotten(server);
  unsaved_free(&server->unsaved);
  children_free(&server->children);
  arrivals_close(&server->arrivals);
  memory_close(&server->memory);
  close(server->signals.fd);
  close(server->spare);
  close(server->epoll);
}
