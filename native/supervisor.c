/* The supervisor: starts commands next to itself, keeps their output, ends whole trees, records each end. docs/supervisor-protocol.md */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arrival.h"
#include "bridge.h"
#include "build.h"
#include "guardian.h"
#include "host.h"
#include "inherited.h"
#include "server.h"
#include "signals.h"
#include "start.h"

static const uint64_t usual_idle_ms = 600000;

extern char **environ;

struct options {
  char *socket, *home;
  bool stdio, bridge, version, apart, idle_given;
  uint64_t idle_ms;
};

static bool parse_number(const char *text, uint64_t *number) {
  char *end;
  if (text[0] < '0' || text[0] > '9') return false;
  errno = 0;
  *number = strtoull(text, &end, 10);
  return errno == 0 && *end == '\0';
}

/* Copied, because the originals are blanked. */
static bool copy_text(char **copy, const char *text) {
  free(*copy);
  *copy = strdup(text);
  return *copy != NULL;
}

static void free_options(struct options *options) {
  free(options->socket);
  free(options->home);
}

static bool parse_options(int argc, char **argv, struct options *options) {
  *options = (struct options){.idle_ms = usual_idle_ms};
  for (int at = 1; at < argc; at += 1) {
    const char *value = at + 1 < argc ? argv[at + 1] : NULL;
    if (strcmp(argv[at], "--version") == 0) {
      options->version = true;
    } else if (strcmp(argv[at], "--stdio") == 0) {
      options->stdio = true;
    } else if (strcmp(argv[at], "--bridge") == 0) {
      options->bridge = true;
    } else if (strcmp(argv[at], "--apart") == 0) {
      options->apart = true;
    } else if (strcmp(argv[at], "--socket") == 0 && value) {
      if (!copy_text(&options->socket, value)) return false;
      at += 1;
    } else if (strcmp(argv[at], "--home") == 0 && value) {
      if (!copy_text(&options->home, value)) return false;
      at += 1;
    } else if (strcmp(argv[at], "--idle-ms") == 0 && value && parse_number(value, &options->idle_ms)) {
      options->idle_given = true;
      at += 1;
    } else {
      return false;
    }
  }
  if (options->stdio && !options->idle_given) options->idle_ms = 0;
  if (options->bridge) return options->socket && !options->stdio && !options->apart;
  return options->version || options->stdio != (options->socket != NULL);
}

/* Descriptors 0 to 2 are there, and nothing else that came along. */
static void tidy_descriptors(void) {
  int fd;
  do fd = open("/dev/null", O_RDWR);
  while (fd >= 0 && fd <= 2);
  close_from(3);
}

/* What looks for a text in the command lines or environments of others, to end them, does not find it here. */
static void blank(int argc, char **argv) {
  static char *nothing[] = {NULL};
  char *end = argv[0] + strlen(argv[0]) + 1;
  for (int at = 1; at < argc; at += 1)
    if (argv[at] == end) end += strlen(argv[at]) + 1;
  for (char **variable = environ; variable && *variable; variable += 1)
    if (*variable == end) end += strlen(*variable) + 1;
  environ = nothing;
  memset(argv[0], 0, (size_t)(end - argv[0]));
  prctl(PR_SET_NAME, "holdfast-superv", 0UL, 0UL, 0UL);
}

static void prepare_signals(bool hangup_counts) {
  signal(SIGPIPE, SIG_IGN);
  /* A log that reaches a limit of the process on files is an errno, too. */
  signal(SIGXFSZ, SIG_IGN);
  /* Over a stream, the end of the connection does not end the runs; ignored, it does not reach who waits for it either. */
  signal(SIGHUP, hangup_counts ? SIG_DFL : SIG_IGN);
  signal(SIGTERM, SIG_DFL);
  signal(SIGINT, SIG_DFL);
  signal(SIGCHLD, SIG_DFL);
  sigset_t signals;
  awaited_signals(&signals);
  sigprocmask(SIG_SETMASK, &signals, NULL);
}

static int complain(const char *what) {
  fprintf(stderr, "holdfast-supervisor: %s: %s\n", what, strerror(errno));
  return 1;
}

static bool say(const char *word) {
  size_t length = strlen(word);
  return write(STDOUT_FILENO, word, length) == (ssize_t)length;
}

static int serve(struct server *server, const struct options *options, struct place *place, int notes) {
  static const int standard[] = {0, 1, 2};
  if (!server_open(server, place, options->home, notes, ms_to_us(options->idle_ms))) return complain("cannot serve");
  if (options->stdio) {
    int in = fcntl(0, F_DUPFD_CLOEXEC, 3), out = fcntl(1, F_DUPFD_CLOEXEC, 3);
    if (in < 0 || out < 0 || !server_serve_stream(server, in, out)) return complain("standard input and output");
  } else {
    (void)say("ready\n");
  }
  /* Whoever started it waits for their end. */
  silence(standard, 3);
  server_run(server);
  return 0;
}

/* A child of nobody who is around: whoever starts it may be a command of another supervisor, and is ended with all that is below it. */
static bool leave_parent(void) {
  pid_t child = fork();
  if (child > 0) _exit(0);
  return child == 0;
}

static int live(const struct options *options) {
  struct place place = {.lock = -1, .door = -1};
  /* The kernel takes some milliseconds to close it, and does so behind all that was opened later: when this process is killed, the lock and
     the door are not held up by it. */
  int notes = arrivals_notes();
  if (options->socket) {
    enum place_result result = place_take(&place, options->socket);
    if (result == PLACE_TAKEN) return say("taken\n") ? 0 : 1;
    if (result == PLACE_REFUSED) return 1;
  }
  if (!guardian_fork()) return complain("cannot begin");
  struct server *server = malloc(sizeof *server);
  if (!server) return complain("cannot begin");
  /* Also where the outer one could not leave the session of whoever started it. */
  setsid();
  int status = serve(server, options, options->socket ? &place : NULL, notes);
  place_leave(&place);
  if (status == 0) server_close(server);
  free(server);
  return status;
}

int main(int argc, char **argv) {
  struct options options = {0};
  tidy_descriptors();
  if (argc < 1 || !parse_options(argc, argv, &options)) {
    fputs("usage: holdfast-supervisor --socket PATH [--home PATH] [--idle-ms N] [--apart] | --bridge --socket PATH [--home PATH] [--idle-ms N] |"
          " --stdio [--idle-ms N] | --version\n", stderr);
    free_options(&options);
    return 2;
  }
  if (options.version) {
    puts("holdfast-supervisor " HOLDFAST_BUILD " protocol 1");
    free_options(&options);
    return 0;
  }
  blank(argc, argv);
  if (options.bridge) {
    int status = bridge(&(struct bridge_request){options.socket, options.home, options.idle_ms});
    free_options(&options);
    return status;
  }
  inherited_begin();
  prepare_signals(!options.stdio);
  if (options.apart && !leave_parent()) return complain("cannot begin");
  setsid();
  if (chdir("/") != 0) return complain("/");
  int status = live(&options);
  free_options(&options);
  return status;
}
