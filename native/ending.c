#include "ending.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "controller.h"
#include "fault.h"
#include "listener.h"
#include "run.h"

/* How long a tree may take to vanish after KILL before that is reported as not confirmed. */
static const int64_t kill_confirm_us = 2000000, kill_again_us = 100000;
/* Looks for the end of a tree: quickly at first, then further and further apart. */
static const int64_t first_look_us = 5000, last_look_us = 100000, nudged_look_us = 2000;
/* After the exit: how long output may still come, and which silence ends that once no process is about to go on. */
static const int64_t drain_us = 1000000, drain_quiet_us = 40000;
/* After the drain: how long a process may take to vanish without counting as left behind. */
static const int64_t going_us = 25000;
/* Of a log that is closed, per turn of the loop. */
enum { JOIN_BYTES = 4 * 1024 * 1024 };

static void enter_phase(struct run *run, enum run_phase phase, void (*step)(struct timer *)) {
  timer_clear(&run->server->timers, &run->step);
  run->phase = phase;
  run->step.due = step;
}

static bool pipes_are_closed(const struct run *run) {
  return run->streams[STDOUT].source.fd < 0 && run->streams[STDERR].source.fd < 0;
}

/* ---- the record ---- */

/* False while there is more to do. */
static bool join_logs(struct run *run) {
  bool done = true;
  for (int index = 0; index < 2; index += 1) {
    struct stream *stream = &run->streams[index];
    /* While somebody holds the pipe, more may come. */
    if (stream->joined || stream->source.fd >= 0) continue;
    stream->joined = log_join(stream->log, JOIN_BYTES);
    done = done && stream->joined;
  }
  return done;
}

static void note_memory(struct run *run) {
  uint64_t kills;
  if (!run->knows_memory_kills || run->record.late || !memory_kills(&run->server->memory, &kills)) return;
  run->record.knows_oom_kills = true;
  run->record.oom_kills = kills - run->memory_kills;
}

static void save_record(struct run *run) {
  note_memory(run);
  const struct log *out = run->streams[STDOUT].log, *err = run->streams[STDERR].log;
  free(run->json);
  run->json = record_json(&run->record, run->id, out, err, false);
  if (!run->json) return;
  bool failed = log_failure(out) != 0 || log_failure(err) != 0;
  char *brief = failed ? record_json(&run->record, run->id, out, err, true) : NULL;
  server_save(run->server, run, &(struct record_texts){run->json, brief});
  free(brief);
}

static void late_step(struct timer *timer) {
  struct run *run = owner_of(timer, struct run, step);
  if (!join_logs(run)) {
    server_soon(run->server, timer);
    return;
  }
  order_finish(run->order);
  FAULT("late-joined", 0);
  run->record.late = true;
  save_record(run);
  run->late_done = true;
  run_settle(run);
}

static void begin_late(struct run *run) {
  run->step.due = late_step;
  server_soon(run->server, &run->step);
}

static void complete(struct run *run) {
  timer_clear(&run->server->timers, &run->order_flush);
  if (pipes_are_closed(run)) order_finish(run->order);
  else order_flush(run->order);
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  run->record.ended_at_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
  save_record(run);
  run->late_done = pipes_are_closed(run);
  run->phase = RUN_ENDED;
  listeners_end(run);
  FAULT("end-told", 0);
  if (run->server->stopping) run_let_go(run);
  else run_settle(run);
}

static void join_step(struct timer *timer) {
  struct run *run = owner_of(timer, struct run, step);
  if (!join_logs(run)) {
    server_soon(run->server, timer);
    return;
  }
  FAULT("joined", 0);
  complete(run);
}

static void finish(struct run *run) {
  (void)streams_read_now(run);
  run->record.duration_us = run->over_us - run->started_us;
  input_close(run);
  enter_phase(run, RUN_JOINING, join_step);
  join_step(&run->step);
}

void run_settle(struct run *run) {
  if (run->phase != RUN_ENDED || run->forgotten) return;
  if (!run->late_done || run->listeners || run->ladder.active) return;
  if (run->record.leftover_count > 0 && !run->nothing_lives) run_keep(run);
  else run_forget(run);
}

void run_let_go(struct run *run) {
  if (run->phase != RUN_ENDED || run->kept || run->late_done) {
    run_settle(run);
    return;
  }
  bool any = !pipes_are_closed(run);
  (void)streams_read_now(run);
  for (int index = 0; index < 2; index += 1) stream_close(&run->streams[index]);
  if (any) begin_late(run);
}

/* ---- after the exit ---- */

static void leave_behind(struct run *run, const struct process *found, size_t count) {
  record_leftovers(&run->record, found, count);
  struct children *children = &run->server->children;
  for (size_t at = 0; at < count; at += 1) {
    if (found[at].parent != run->server->self || !children_reserve(children)) continue;
    children_add(children, found[at].pid, NULL);
  }
}

static void ladder_begin(struct run *run, int signal, int64_t grace_us);

static void settle_step(struct timer *timer);

static void look_for_leftovers(struct run *run) {
  struct process *found;
  ssize_t count = run_survivors(run, &found);
  if (count <= 0) {
    finish(run);
  } else if (!run->waited_for_leftovers) {
    run->waited_for_leftovers = true;
    enter_phase(run, RUN_SETTLING, settle_step);
    server_after(run->server, &run->step, going_us);
  } else if (run->end_leftovers) {
    enter_phase(run, RUN_ENDING, NULL);
    ladder_begin(run, SIGTERM, run->grace_us);
  } else {
    leave_behind(run, found, (size_t)count);
    finish(run);
  }
  free(found);
}

static void settle_step(struct timer *timer) {
  look_for_leftovers(owner_of(timer, struct run, step));
}

static void drained(struct run *run) {
  FAULT("drained", 0);
  if (run->after_ladder) finish(run);
  else look_for_leftovers(run);
}

static bool is_busy(const struct run *run) {
  struct process *found;
  ssize_t count = run_survivors(run, &found);
  bool busy = false;
  for (ssize_t at = 0; !busy && at < count; at += 1) busy = process_busy(&found[at]);
  free(found);
  return busy;
}

static void drain_step(struct timer *timer) {
  struct run *run = owner_of(timer, struct run, step);
  int64_t now_us = run->server->now_us;
  if (run->last_byte_us > run->quiet_since_us) run->quiet_since_us = run->last_byte_us;
  if (now_us >= run->drain_until_us) {
    drained(run);
    return;
  }
  if (now_us - run->quiet_since_us >= drain_quiet_us) {
    /* On a busy machine what was just started may not have had its turn yet. */
    if (!is_busy(run) && (!streams_read_now(run) || pipes_are_closed(run))) {
      drained(run);
      return;
    }
    run->quiet_since_us = now_us;
  }
  int64_t next_us = run->quiet_since_us + drain_quiet_us;
  timer_set(&run->server->timers, timer, next_us < run->drain_until_us ? next_us : run->drain_until_us);
}

static void drain(struct run *run) {
  enter_phase(run, RUN_DRAINING, drain_step);
  /* That nobody has a terminal open is told once, and may have been told before the exit. */
  if (run->pty) (void)streams_read_now(run);
  if (pipes_are_closed(run)) {
    drained(run);
    return;
  }
  run->quiet_since_us = run->server->now_us;
  run->drain_until_us = run->server->now_us + drain_us;
  server_after(run->server, &run->step, drain_quiet_us);
}

static int64_t timeval_us(const struct timeval *time) {
  return (int64_t)time->tv_sec * 1000000 + time->tv_usec;
}

static void stop_limits(struct run *run) {
  timer_clear(&run->server->timers, &run->wall);
  timer_clear(&run->server->timers, &run->idle);
}

void run_exited(struct run *run, int status, const struct rusage *usage) {
  run->reaped = true;
  if (run->phase >= RUN_JOINING) return;
  run->over_us = run->server->now_us;
  run->record.has_status = true;
  run->record.status = status;
  run->record.user_us = timeval_us(&usage->ru_utime);
  run->record.system_us = timeval_us(&usage->ru_stime);
  run->record.peak_bytes = (uint64_t)usage->ru_maxrss * 1024;
  if (run->phase != RUN_RUNNING) return;
  stop_limits(run);
  FAULT("exit-seen", 0);
  drain(run);
}

void run_stream_ended(struct run *run) {
  if (!pipes_are_closed(run)) return;
  if (run->phase == RUN_DRAINING) drained(run);
  else if (run->phase == RUN_ENDED && !run->late_done) begin_late(run);
}

/* ---- the ladder ---- */

static bool tree_is_gone(const struct run *run) {
  struct process *found;
  /* Its first process is there, dead or alive. */
  if (!run->reaped && run->phase != RUN_ENDED) return false;
  ssize_t count = run_survivors(run, &found);
  free(found);
  /* A tree that cannot be looked at is not known to be gone. */
  return count == 0;
}

static void answer_stoppers(struct run *run, size_t left) {
  for (size_t at = 0; at < run->ladder.stopper_count; at += 1) {
    const struct asker *asker = &run->ladder.stoppers[at];
    struct controller *controller = controller_find(run->server, asker->controller);
    if (!controller) continue;
    struct outbox *outbox = controller_answer(controller, ANSWER_DONE, asker->tag);
    frame_add_text(outbox, 1, run->id);
    frame_add_number(outbox, 2, left);
    controller_send(controller);
  }
  run->ladder.stopper_count = 0;
}

static void ladder_over(struct run *run, bool gone) {
  struct process *found = NULL;
  ssize_t count = gone ? 0 : run_processes(run, &found);
  size_t left = count > 0 ? (size_t)count : 0;
  run->ladder.active = false;
  if (gone) FAULT("tree-gone", 0);
  timer_clear(&run->server->timers, &run->ladder.timer);
  answer_stoppers(run, left);
  if (run->phase == RUN_ENDING) {
    run->record.confirmed = gone;
    /* A run that ended by itself was over when its first process was. */
    if (run->record.cut != CUT_NONE) run->over_us = run->server->now_us;
    leave_behind(run, found, left);
    run->after_ladder = true;
    drain(run);
  } else if (run->phase == RUN_ENDED) {
    run->nothing_lives = left == 0;
    run_settle(run);
  }
  free(found);
}

static int64_t earlier(int64_t one_us, int64_t other_us) {
  return one_us < other_us ? one_us : other_us;
}

static void ladder_wait(struct run *run) {
  struct ladder *ladder = &run->ladder;
  int64_t at_us = run->server->now_us + ladder->look_after_us;
  at_us = earlier(at_us, ladder->killing ? earlier(ladder->next_kill_us, ladder->kill_until_us) : ladder->grace_until_us);
  ladder->look_after_us = earlier(ladder->look_after_us * 2, last_look_us);
  timer_set(&run->server->timers, &ladder->timer, at_us > run->server->now_us ? at_us : run->server->now_us + 1);
}

static void ladder_kill(struct run *run) {
  struct ladder *ladder = &run->ladder;
  int64_t now_us = run->server->now_us;
  if (!ladder->killing) ladder->kill_until_us = now_us + kill_confirm_us;
  ladder->killing = true;
  ladder->next_kill_us = now_us + kill_again_us;
  ladder->look_after_us = first_look_us;
  run_signal(run, SIGKILL);
  FAULT("kill-sent", 0);
  ladder_wait(run);
}

static void ladder_step(struct timer *timer) {
  struct run *run = owner_of(timer, struct run, ladder.timer);
  struct ladder *ladder = &run->ladder;
  int64_t now_us = run->server->now_us;
  if (tree_is_gone(run)) ladder_over(run, true);
  else if (!ladder->killing && now_us >= ladder->grace_until_us) ladder_kill(run);
  else if (ladder->killing && now_us >= ladder->kill_until_us) ladder_over(run, false);
  /* Again and again: a tree that forks while it is being ended gets away from a single round. */
  else if (ladder->killing && now_us >= ladder->next_kill_us) ladder_kill(run);
  else ladder_wait(run);
}

static void ladder_begin(struct run *run, int signal, int64_t grace_us) {
  struct ladder *ladder = &run->ladder;
  ladder->active = true;
  ladder->killing = false;
  ladder->timer.due = ladder_step;
  if (signal == SIGKILL) {
    ladder_kill(run);
    return;
  }
  run_signal(run, signal);
  FAULT("term-sent", 0);
  ladder->grace_until_us = run->server->now_us + grace_us;
  ladder->look_after_us = first_look_us;
  ladder_wait(run);
}

void run_look_again(struct run *run) {
  if (run->forgotten) return;
  if (run->ladder.active) {
    struct timer *timer = &run->ladder.timer;
    int64_t at_us = run->server->now_us + nudged_look_us;
    bool quick = run->reaped && run->phase == RUN_ENDING && run->record.leftover_count == 0;
    if (quick && server_has_no_stranger(run->server)) ladder_over(run, true);
    else if (timer->at_us > at_us) timer_set(&run->server->timers, timer, at_us);
  } else if (run->phase == RUN_SETTLING && server_has_no_stranger(run->server)) {
    finish(run);
  }
}

void run_cut(struct run *run, enum cut cut, uint64_t after_ms, int signal, int64_t grace_us) {
  if (run->phase != RUN_RUNNING) return;
  stop_limits(run);
  run->record.cut = cut;
  run->record.after_ms = after_ms;
  enter_phase(run, RUN_ENDING, NULL);
  ladder_begin(run, signal, grace_us);
}

/* ---- what was asked for ---- */

static bool add_stopper(struct ladder *ladder, const struct asker *asker) {
  if (!asker) return true;
  if (ladder->stopper_count >= MOST_STOPPERS) return false;
  struct asker *stoppers = realloc(ladder->stoppers, (ladder->stopper_count + 1) * sizeof *stoppers);
  if (!stoppers) return false;
  ladder->stoppers = stoppers;
  stoppers[ladder->stopper_count++] = *asker;
  return true;
}

static uint64_t cut_after_ms(const struct run *run, enum cut cut) {
  int64_t now_us = run->server->now_us;
  if (cut == CUT_WALL) return run->wall_ms > 0 ? run->wall_ms : (uint64_t)(now_us - run->started_us) / 1000;
  return cut == CUT_IDLE ? (uint64_t)(now_us - run->last_byte_us) / 1000 : 0;
}

bool run_stop(struct run *run, const struct stop_request *request, const struct asker *asker) {
  if (!add_stopper(&run->ladder, asker)) return false;
  if (run->ladder.active) {
    if (request->signal == SIGKILL && !run->ladder.killing) ladder_kill(run);
  } else if (run->phase == RUN_RUNNING) {
    run_cut(run, request->cut, cut_after_ms(run, request->cut), request->signal, request->grace_us);
  } else if (run->after_ladder && run->phase != RUN_ENDED) {
    /* The ladder was just over: what is left now is known. */
    answer_stoppers(run, run->record.leftover_count);
  } else {
    if (run->phase == RUN_DRAINING || run->phase == RUN_SETTLING) enter_phase(run, RUN_ENDING, NULL);
    ladder_begin(run, request->signal, request->grace_us);
  }
  return true;
}
