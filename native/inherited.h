/* What a process takes over from its parent, unasked: the mode mask, the nice value and the limits on resources. A command gets those of
   whoever asked for it, as if that had started it, and not those of whoever happened to start the supervisor. */
#ifndef HOLDFAST_INHERITED_H
#define HOLDFAST_INHERITED_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

/* The child shares its memory with the parent, so nothing in it may be instrumented or leave traces. */
#define IN_CHILD __attribute__((no_sanitize("address"), no_sanitize("undefined")))

struct inherited {
  mode_t mask;
  int nice;
  bool limited;          /* whether the limits are known */
  struct rlimit limits[RLIM_NLIMITS];
};

/* What commands get where it is not said otherwise; at first nothing but a usual mask. */
extern struct inherited inherited_usually;

/* Makes what this process was started with the usual, and lets go of it: what runs for long on behalf of many is not limited as one
   of them is, and keeps its files to itself. */
void inherited_begin(void);

/* Sets one limit by a text, `NAME SOFT HARD`, each of both a number or `unlimited`. False where it is none; an unknown name is passed
   over. */
bool inherited_set_limit(struct inherited *inherited, const char *text, size_t length);

/* The limits that differ from those of this process, in changed[]; returns how many. The one that carries the tag is never among them. */
struct changed_limit {
  int resource;
  struct rlimit limit;
};
size_t inherited_changes(const struct inherited *inherited, struct changed_limit changed[RLIM_NLIMITS]);

/* In the process that it is for. Neither allocates nor fails: what is refused stays as near as it may. */
void inherited_take(const struct inherited *inherited, const struct changed_limit *changed, size_t count);

#endif
