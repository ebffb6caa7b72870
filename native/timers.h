/* Deadlines on the monotonic clock. They are few, so an ordered list does. */
#ifndef HOLDFAST_TIMERS_H
#define HOLDFAST_TIMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The struct that holds `member` at this address. */
#define owner_of(pointer, type, member) ((type *)(void *)((char *)(pointer) - offsetof(type, member)))

struct timer {
  struct timer *before, *behind;
  bool is_set;
  int64_t at_us;
  void (*due)(struct timer *timer);
};

struct timers {
  struct timer *first, *last;
};

int64_t clock_us(void);

/* Sets it anew where it is set already. A due function that sets its own timer again must set it behind the time of timers_fire. */
void timer_set(struct timers *timers, struct timer *timer, int64_t at_us);
void timer_clear(struct timers *timers, struct timer *timer);

/* For epoll_wait: milliseconds until the first one is due, rounded up; 0 also where only a microsecond is left; -1 where there is none. */
int timers_wait_ms(const struct timers *timers, int64_t now_us);

void timers_fire(struct timers *timers, int64_t now_us);

#endif
