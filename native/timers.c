#include "timers.h"

#include <limits.h>
#include <time.h>

int64_t clock_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void timer_clear(struct timers *timers, struct timer *timer) {
  if (!timer->is_set) return;
  if (timer->before) timer->before->behind = timer->behind;
  else timers->first = timer->behind;
  if (timer->behind) timer->behind->before = timer->before;
  else timers->last = timer->before;
  timer->before = timer->behind = NULL;
  timer->is_set = false;
}

void timer_set(struct timers *timers, struct timer *timer, int64_t at_us) {
  timer_clear(timers, timer);
  timer->at_us = at_us;
  timer->is_set = true;
  /* What is to happen at once goes to the front without a look at the many limits that are far away. */
  struct timer *before = timers->first && at_us < timers->first->at_us ? NULL : timers->last;
  while (before && before->at_us > at_us) before = before->before;
  timer->before = before;
  timer->behind = before ? before->behind : timers->first;
  if (timer->before) timer->before->behind = timer;
  else timers->first = timer;
  if (timer->behind) timer->behind->before = timer;
  else timers->last = timer;
}

int timers_wait_ms(const struct timers *timers, int64_t now_us) {
  if (!timers->first) return -1;
  int64_t left_us = timers->first->at_us - now_us;
  if (left_us <= 1) return 0;
  int64_t left_ms = (left_us + 999) / 1000;
  return left_ms < INT_MAX ? (int)left_ms : INT_MAX;
}

void timers_fire(struct timers *timers, int64_t now_us) {
  while (timers->first && timers->first->at_us <= now_us) {
    struct timer *timer = timers->first;
    timer_clear(timers, timer);
    timer->due(timer);
  }
}
