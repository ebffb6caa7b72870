/* Finds where a path below a root leads, as src/files/walk.ts does: name by name, each looked up in the directory that was opened before
   it. The system never follows a link on the way; what a link says is walked like the path itself, so that it is known at each step
   whether that is inside of the root. The way may go outside and come back; what counts is where it ends. Outside nothing is made, and
   what is found there is not told. */
#ifndef HOLDFAST_FILES_WALK_H
#define HOLDFAST_FILES_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "files-names.h"

/* Why something was not done: the reasons of FILE_REFUSED, with constant texts. */
struct refusal {
  const char *reason;
  int error;                 /* errno, or 0 */
  const char *what, *needed; /* or NULL */
};

/* FILE_SWAPPED: another process was in between; looking again may help. FILE_GOES_ON: there is more to do in the next turn of the loop. */
enum file_result { FILE_DONE, FILE_REFUSED, FILE_SWAPPED, FILE_GOES_ON };

/* Both give FILE_REFUSED. */
enum file_result refuse(struct refusal *refusal, const char *reason, const char *what, const char *needed);
/* What a system error means for the file that a caller named. */
enum file_result refuse_errno(struct refusal *refusal, int error);

enum {
  WALK_CHANGES = 1,       /* what it leads to is to be made, changed or removed: state of git is refused */
  WALK_MAKE_PARENTS = 2,  /* make the directories that are missing on the way */
  WALK_KEEP_LAST = 4      /* a link at the very end is what was asked for */
};

struct walked {
  int fd;
  char *name;
};

/* Where a path leads. Whoever walked closes it, also where it was refused. */
struct landing {
  char *root;                /* absolute, without links */
  int top;                   /* the root; all directories are handles without a right to read (O_PATH) */
  struct walked *inside;     /* the directories from the root to where it ends */
  size_t depth, room;
  char *name;                /* of the last entry, where that is no directory that was entered */
  bool exists;
  bool is_directory;         /* then it is the last one of `inside`, or the root */
  struct stat stat;          /* where it exists */
  struct text links;         /* path from the root, NUL, what it says, NUL; of all links */
  size_t link_count;
};

enum file_result walk(struct landing *landing, const char *root, const uint8_t *path, size_t length, int options, struct refusal *refusal);
void landing_close(struct landing *landing);
/* The directory that has the entry; of the root itself: the root. */
int landing_parent(const struct landing *landing);
int landing_directory(const struct landing *landing);
/* NULL: it is the root itself. */
const char *landing_name(const struct landing *landing);
/* From the root; false where there is no memory. */
bool landing_path(const struct landing *landing, struct text *path);

#endif
