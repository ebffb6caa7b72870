#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fault.h"
#include "folders.h"
#include "memory.h"
#include "listener.h"

enum { LARGE_PIPE = 1024 * 1024, USUAL_PIPE = 65536, MOST_MEASURES = 4, FULL_READS = 4, SEARCHES_PER_PRUNE = 4 };
static const int64_t order_flush_us = 100000;

/* ---- the table ---- */

static struct run **bucket_of(struct server *server, const char *id) {
  uint32_t hash = 2166136261U;
  for (; *id; id += 1) hash = (hash ^ (uint8_t)*id) * 16777619U;
  return &server->buckets[hash % RUN_BUCKETS];
}

struct run *run_find(const struct server *server, const char *id) {
  struct run *run = *bucket_of((struct server *)(uintptr_t)server, id);
  while (run && strcmp(run->id, id) != 0) run = run->next_in_bucket;
  return run;
}

static void run_enter(struct run *run) {
  struct server *server = run->server;
  struct run **bucket = bucket_of(server, run->id);
  run->next_in_bucket = *bucket;
  *bucket = run;
  run->next = server->runs;
  if (run->next) run->next->previous = run;
  server->runs = run;
  run->held = true;
  server->held_count += 1;
}

static void run_hold_no_more(struct run *run) {
  if (run->held) run->server->held_count -= 1;
  if (run->kept) run->server->kept_count -= 1;
  run->held = run->kept = false;
}

void run_release(struct run *run) {
  struct timers *timers = &run->server->timers;
  timer_clear(timers, &run->wall);
  timer_clear(timers, &run->idle);
  timer_clear(timers, &run->step);
  timer_clear(timers, &run->order_flush);
  input_close(run);
  for (int index = 0; index < 2; index += 1) {
    stream_close(&run->streams[index]);
    log_free(run->streams[index].log);
    run->streams[index].log = NULL;
  }
  order_free(run->order);
  run->order = NULL;
  free(run->json);
  run->json = NULL;
  if (run->folder >= 0) close(run->folder);
  run->folder = -1;
}

void run_keep(struct run *run) {
  struct server *server = run->server;
  if (run->kept) return;
  run_release(run);
  run_hold_no_more(run);
  run->kept = true;
  server->kept_count += 1;
  if (server->kept_count <= MOST_KEPT) return;
  struct run *oldest = NULL;
  for (struct run *other = server->runs; other; other = other->next)
    if (other->kept && !other->ladder.active) oldest = other;
  if (oldest) run_forget(oldest);
}

void run_forget(struct run *run) {
  struct server *server = run->server;
  if (run->forgotten) return;
  while (run->listeners) listener_remove(run->listeners);
  run_release(run);
  run_hold_no_more(run);
  timer_clear(&server->timers, &run->ladder.timer);
  if (!run->reaped) children_disown(&server->children, run->key.leader);
  struct run **link = bucket_of(server, run->id);
  while (*link != run) link = &(*link)->next_in_bucket;
  *link = run->next_in_bucket;
  /* Its own links stay as they are for whoever is going through the list in this moment. */
  if (run->previous) run->previous->next = run->next;
  else server->runs = run->next;
  if (run->next) run->next->previous = run->previous;
  run->forgotten = true;
  run->next_forgotten = server->forgotten;
  server->forgotten = run;
}

static void run_free(struct run *run) {
  free(run->mark);
  free(run->ladder.stoppers);
  free(run->record.leftovers);
  free(run);
}

void runs_free_forgotten(struct server *server) {
  while (server->forgotten) {
    struct run *run = server->forgotten;
    server->forgotten = run->next_forgotten;
    run_free(run);
  }
}

/* ---- its processes ---- */

ssize_t run_processes(const struct run *run, struct process **found) {
  return tree_find(&run->key, run->server->self, found);
}

/* What was left behind may have left something behind itself: only a search tells that nothing lives, and it is not made for many
   at once. */
static bool leftovers_live(const struct run *run, int *searches) {
  for (size_t at = 0; at < run->record.leftover_count; at += 1) {
    const struct leftover *leftover = &run->record.leftovers[at];
    struct process process;
    if (process_read(leftover->pid, &process) && process.start == leftover->start && process.state != 'Z') return true;
  }
  struct process *found = NULL;
  if (*searches <= 0) return true;
  *searches -= 1;
  bool live = run_processes(run, &found) != 0;
  free(found);
  return live;
}

void runs_prune(struct server *server) {
  int searches = SEARCHES_PER_PRUNE;
  for (struct run *run = server->runs, *next; run; run = next) {
    next = run->next;
    if (run->kept && !run->ladder.active && !leftovers_live(run, &searches)) run_forget(run);
  }
}

ssize_t run_survivors(const struct run *run, struct process **found) {
  *found = NULL;
  /* What this run left behind is among the known children, so then the quick look would say nothing. */
  bool quick = run->reaped && run->phase != RUN_ENDED && run->record.leftover_count == 0;
  if (quick && server_has_no_stranger(run->server)) return 0;
  return run_processes(run, found);
}

size_t run_signal(const struct run *run, int signal) {
  return tree_signal(&run->key, run->server->self, signal, !run->reaped);
}

/* ---- limits ---- */

static void wall_due(struct timer *timer) {
  struct run *run = owner_of(timer, struct run, wall);
  run_cut(run, CUT_WALL, run->wall_ms, SIGTERM, run->grace_us);
}

/* Output only moves the moment of the last byte; whether that was long ago is asked when the limit could be reached. */
static void idle_due(struct timer *timer) {
  struct run *run = owner_of(timer, struct run, idle);
  int64_t silent_us = run->server->now_us - run->last_byte_us, limit_us = ms_to_us(run->idle_ms);
  if (silent_us < limit_us) server_after(run->server, timer, limit_us - silent_us);
  else run_cut(run, CUT_IDLE, (uint64_t)silent_us / 1000, SIGTERM, run->grace_us);
}

static void run_watch_limits(struct run *run) {
  if (run->wall_ms > 0) server_after(run->server, &run->wall, ms_to_us(run->wall_ms));
  if (run->idle_ms > 0) server_after(run->server, &run->idle, ms_to_us(run->idle_ms));
}

/* ---- output ---- */

static void order_due(struct timer *timer) {
  order_flush(owner_of(timer, struct run, order_flush)->order);
}

static void note_order(struct stream *stream, size_t length) {
  struct run *run = stream->run;
  order_add(run->order, stream->index + 1, length);
  bool both = run->streams[STDOUT].bytes > 0 && run->streams[STDERR].bytes > 0;
  if (both && !run->order_flush.is_set) server_after(run->server, &run->order_flush, order_flush_us);
}

/* To the disk first, to listeners second. */
static void take_output(struct stream *stream, const uint8_t *bytes, size_t length) {
  struct run *run = stream->run;
  FAULT("output-read", run->streams[STDOUT].bytes + run->streams[STDERR].bytes);
  run->last_byte_us = run->server->now_us;
  log_write(stream->log, bytes, length);
  stream->bytes += length;
  FAULT(run->phase == RUN_ENDED ? "late-output" : "output-logged", run->streams[STDOUT].bytes + run->streams[STDERR].bytes);
  note_order(stream, length);
  if (run->listeners) listeners_output(stream, bytes, length);
  FAULT("output-told", run->streams[STDOUT].bytes + run->streams[STDERR].bytes);
}

/* Whoever fills its pipe again and again gets a larger one, so that writer and reader need not wait for each other as often. */
static void consider_large_pipe(struct stream *stream, size_t length) {
  struct server *server = stream->run->server;
  if (stream->is_large || stream->run->pty) return;
  stream->full_reads = length >= USUAL_PIPE ? stream->full_reads + 1 : 0;
  if (stream->full_reads < FULL_READS || server->large_pipes >= MOST_LARGE_PIPES) return;
  stream->full_reads = 0;
  if (fcntl(stream->source.fd, F_SETPIPE_SZ, LARGE_PIPE) < 0) return;
  stream->is_large = true;
  server->large_pipes += 1;
}

void stream_close(struct stream *stream) {
  struct server *server = stream->run->server;
  if (stream->source.fd < 0) return;
  /* A duplicate of a pseudo-terminal would keep it in the list of the kernel. */
  if (stream->run->pty) server_unwatch(server, &stream->source);
  arrivals_unwatch(&server->arrivals, stream);
  close(stream->source.fd);
  stream->source.fd = -1;
  if (stream->is_large) server->large_pipes -= 1;
  stream->is_large = false;
}

enum read_result { READ_SOME, READ_ALL, READ_NOTHING, READ_END };

/* As read(2), whatever signals come. */
static ssize_t read_pipe(const struct stream *stream, uint8_t *room, size_t most) {
  ssize_t got;
  do got = read(stream->source.fd, room, most);
  while (got < 0 && errno == EINTR);
  return got;
}

static enum read_result read_once(struct stream *stream, size_t *length) {
  struct server *server = stream->run->server;
  ssize_t got = read_pipe(stream, server->room, READ_MOST);
  *length = got > 0 ? (size_t)got : 0;
  if (got < 0 && errno == EAGAIN) return READ_NOTHING;
  /* A pseudo-terminal that nobody holds any more says EIO. */
  if (got <= 0) return READ_END;
  consider_large_pipe(stream, *length);
  take_output(stream, server->room, *length);
  /* A pipe gives all that it has; a pseudo-terminal does not. */
  return *length < READ_MOST && !stream->run->pty ? READ_ALL : READ_SOME;
}

/* ---- output in the order of arrival ---- */

static size_t waiting_in(const struct stream *stream) {
  int bytes = 0;
  if (stream->source.fd < 0 || ioctl(stream->source.fd, FIONREAD, &bytes) != 0 || bytes < 0) return 0;
  return (size_t)bytes;
}

/* Not more than was counted: what came since has a later turn. */
static void read_exactly(const struct stream *stream, uint8_t *room, size_t *length) {
  if (*length == 0) return;
  ssize_t got = read_pipe(stream, room, *length);
  *length = got > 0 ? (size_t)got : 0;
}

static void measure(struct run *run, size_t length[2]) {
  for (int index = 0; index < 2; index += 1) length[index] = waiting_in(&run->streams[index]);
}

/* How much waits, and the turns of all of it: in a moment in which nothing is written, if there is one. */
static void measure_turns(struct run *run, size_t length[2]) {
  size_t before[2];
  measure(run, length);
  turns_settle(&run->turns, length);
  for (int tries = 0; tries < MOST_MEASURES; tries += 1) {
    memcpy(before, length, sizeof before);
    arrivals_take(&run->server->arrivals);
    measure(run, length);
    if (before[STDOUT] == length[STDOUT] && before[STDERR] == length[STDERR]) break;
  }
  /* Each of these bytes was counted before the notes are taken. A write is noted a moment after its bytes can be seen. */
  arrivals_take(&run->server->arrivals);
}

/* Takes what waits in both pipes, each piece in its turn. False where nothing waits, or so much that its order does not matter: then the
   pipe is read as a whole. */
static bool take_in_turns(struct run *run) {
  struct server *server = run->server;
  uint8_t *room[2] = {server->room, server->room + USUAL_PIPE};
  size_t length[2];
  measure_turns(run, length);
  if (length[STDOUT] >= USUAL_PIPE || length[STDERR] >= USUAL_PIPE) {
    run->turns.count = 0;
    return false;
  }
  for (int index = 0; index < 2; index += 1) read_exactly(&run->streams[index], room[index], &length[index]);
  if (length[STDOUT] + length[STDERR] == 0) return false;
  while (length[STDOUT] + length[STDERR] > 0) {
    struct piece piece = turns_next(&run->turns, (const uint8_t *const *)room, length);
    take_output(&run->streams[piece.stream], room[piece.stream], piece.length);
    room[piece.stream] += piece.length;
    length[piece.stream] -= piece.length;
  }
  return true;
}

/* A pipe whose writes are noted is reported as long as something is in it. Another one is reported once each time something comes
   (EPOLLET), so that the kernel's list keeps the order in which both streams came; it has to be read to its end, or reported anew. */
static void stream_ready(struct source *source, uint32_t events) {
  struct stream *stream = owner_of(source, struct stream, source);
  bool noted = stream->watch >= 0;
  size_t total = 0, length;
  /* Whoever writes that much would only be held up. */
  if (noted && (events & EPOLLIN) && !stream->is_large && take_in_turns(stream->run)) return;
  for (;;) {
    enum read_result result = read_once(stream, &length);
    total += length;
    if (result == READ_END) {
      /* A terminal that nobody has open in this moment can be opened again, and closing our side of it would end the command: many
         programs close what they print to just before they exit. */
      if (stream->run->pty && !stream->run->reaped) return;
      stream_close(stream);
      run_stream_ended(stream->run);
      return;
    }
    if (result == READ_NOTHING || noted) return;
    if (result == READ_ALL && !(events & (EPOLLHUP | EPOLLERR))) return;
    if (total >= READ_MOST) {
      server_rewatch(stream->run->server, source, EPOLLIN | EPOLLET);
      return;
    }
  }
}

static bool stream_read_now(struct stream *stream) {
  size_t total = 0, length;
  while (stream->source.fd >= 0 && total < 2 * LARGE_PIPE) {
    enum read_result result = read_once(stream, &length);
    total += length;
    if (result == READ_NOTHING) break;
    if (result == READ_END) stream_close(stream);
  }
  return total > 0;
}

bool streams_read_now(struct run *run) {
  bool any = run->streams[STDOUT].watch >= 0 && take_in_turns(run);
  bool out = stream_read_now(&run->streams[STDOUT]), err = stream_read_now(&run->streams[STDERR]);
  return any || out || err;
}

/* ---- the folder ---- */

bool run_folder_name(const struct server *server, const char *id, char *path) {
  int length = snprintf(path, PATH_MAX, "%s/runs/%s", server->home, id);
  return length > 0 && length < PATH_MAX;
}

enum { MOST_FILE_NAME = 255 };

/* The name and the bytes of each file follow each other. False with errno. */
static bool put_files(int folder, const struct frame *frame) {
  char name[MOST_FILE_NAME + 1] = "";
  struct field field;
  size_t at = 0;
  while (frame && field_next(frame, &at, &field) > 0) {
    if (field.key == 27) {
      bool fits = field.length > 0 && field.length <= MOST_FILE_NAME && !memchr(field.bytes, '/', field.length) && !memchr(field.bytes, 0, field.length);
      if (!fits) return errno = EINVAL, false;
      memcpy(name, field.bytes, field.length);
      name[field.length] = '\0';
    }
    if (field.key != 28) continue;
    if (name[0] == '\0') return errno = EINVAL, false;
    if (!folder_put(folder, name, field.bytes, field.length)) return false;
    name[0] = '\0';
  }
  return true;
}

/* The folder of a run that begins, or -1 with errno. Where it is to be made, it is one of the home. */
static int open_folder(const struct server *server, const struct run_terms *terms) {
  char path[PATH_MAX];
  if (terms->makes_folder) {
    if (!server->home || !run_folder_name(server, terms->id, path) || strcmp(path, terms->folder) != 0) return errno = EINVAL, -1;
    if (!folders_make_above(path) || mkdir(path, 0700) != 0) return -1;
  }
  int folder = open(terms->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0 || put_files(folder, terms->files)) return folder;
  int error = errno;
  close(folder);
  if (terms->makes_folder) (void)folder_remove(path);
  errno = error;
  return -1;
}

/* Of what was not started nothing stays. */
static void take_back_folder(const struct run_terms *terms) {
  if (terms->makes_folder) (void)folder_remove(terms->folder);
}

/* ---- the start ---- */

/* Takes the folder in every case. */
static struct run *run_make(struct server *server, const struct run_terms *terms, int folder) {
  static const char *const names[] = {"stdout.log", "stderr.log"};
  struct run *run = calloc(1, sizeof *run);
  if (!run) {
    close(folder);
    return NULL;
  }
  run->server = server;
  run->folder = folder;
  run->input.source.fd = -1;
  strcpy(run->id, terms->id);
  run->mark = strdup(terms->mark);
  run->order = order_open(folder, "order.log");
  bool whole = run->mark && run->order;
  for (int index = 0; index < 2; index += 1) {
    struct stream *stream = &run->streams[index];
    *stream = (struct stream){.source = {.fd = -1, .ready = stream_ready}, .run = run, .index = index, .watch = -1};
    stream->log = log_open(folder, names[index], terms->log_bytes);
    whole = whole && stream->log;
  }
  if (whole) return run;
  run_release(run);
  run_free(run);
  return NULL;
}

static void set_terms(struct run *run, const struct run_terms *terms) {
  run->input_kind = terms->input;
  run->pty = terms->start.pty;
  run->bound = terms->bound;
  run->end_leftovers = terms->end_leftovers;
  run->starter = terms->starter;
  run->wall_ms = terms->wall_ms;
  run->idle_ms = terms->idle_ms;
  run->grace_us = ms_to_us(terms->grace_ms);
  run->wall.due = wall_due;
  run->idle.due = idle_due;
  run->order_flush.due = order_due;
  run->record.confirmed = true;
}

/* A stream that cannot be watched is closed: the command gets SIGPIPE, rather than a pipe that nobody reads. */
static void watch_streams(struct run *run, const struct started *started) {
  const int ends[] = {started->out, started->err};
  for (int index = 0; index < 2; index += 1) {
    struct stream *stream = &run->streams[index];
    stream->source.fd = ends[index];
    uint32_t events = stream->watch >= 0 ? EPOLLIN : EPOLLIN | EPOLLET;
    if (stream->source.fd >= 0 && !server_watch(run->server, &stream->source, events)) stream_close(stream);
  }
}

/* A quick command has written a lot before its start is even known here, so its pipes are watched before it. */
static void pipes_opened(void *context, int out, int err) {
  struct run *run = context;
  arrivals_watch(&run->server->arrivals, &run->streams[STDOUT], out);
  arrivals_watch(&run->server->arrivals, &run->streams[STDERR], err);
}

static void begin_input(struct run *run, const struct run_terms *terms, int fd) {
  if (fd < 0) {
    run->input.ends = true;
    return;
  }
  input_open(&run->input, fd, run->pty);
  if (terms->first_input_length > 0) input_add(run, NULL, terms->first_input, terms->first_input_length);
  if (terms->input == INPUT_NONE || terms->input_ends) input_end(run);
}

static void begin(struct run *run, const struct run_terms *terms, const struct started *started, int64_t began_us) {
  struct server *server = run->server;
  run->key = (struct tree_key){.leader = started->pid, .start = started->start, .tag = terms->start.tag, .mark = run->mark};
  children_add(&server->children, started->pid, run);
  run_enter(run);
  watch_streams(run, started);
  run->started_us = run->last_byte_us = began_us;
  run_watch_limits(run);
  begin_input(run, terms, started->in);
}

static const char *stage_name(enum start_stage stage) {
  static const char *const names[] = {[START_PROGRAM] = "program", [START_CWD] = "cwd", [START_PIPES] = "pipes", [START_PTY] = "pty"};
  return stage >= START_PROGRAM && stage <= START_PTY ? names[stage] : "process";
}

enum run_failure run_start(struct server *server, const struct run_terms *terms, struct run **started, struct run_refusal *refusal) {
  int folder = open_folder(server, terms);
  if (folder < 0) {
    *refusal = (struct run_refusal){"folder", errno};
    return RUN_NOT_STARTED;
  }
  if (!server_can_spare(server, folder)) {
    close(folder);
    take_back_folder(terms);
    *refusal = (struct run_refusal){"pipes", EMFILE};
    return RUN_NOT_STARTED;
  }
  struct run *run = run_make(server, terms, folder);
  if (!run) {
    take_back_folder(terms);
    return RUN_NO_MEMORY;
  }
  set_terms(run, terms);
  run->knows_memory_kills = memory_kills(&server->memory, &run->memory_kills);
  struct run_terms with_tag = *terms;
  with_tag.start.tag = server->next_tag++;
  with_tag.start.opened = pipes_opened;
  with_tag.start.context = run;
  int64_t began_us = clock_us();
  struct started command = {.stage = START_PROCESS, .error = ENOMEM};
  if (!children_reserve(&server->children) || !start_command(&with_tag.start, &command)) {
    *refusal = (struct run_refusal){stage_name(command.stage), command.error};
    for (int index = 0; index < 2; index += 1) arrivals_unwatch(&server->arrivals, &run->streams[index]);
    run_release(run);
    run_free(run);
    take_back_folder(terms);
    return RUN_NOT_STARTED;
  }
  server->childless = false;
  FAULT("child-started", 0);
  tree_share_anew();
  /* Milliseconds have passed; limits count from now on. */
  server->now_us = clock_us();
  begin(run, &with_tag, &command, began_us);
  record_process(run->folder, run->key.leader, run->key.start);
  *started = run;
  return RUN_STARTED;
}
