/* Removing and renaming, as src/files/remove.ts and move.ts do it. What takes long goes on in the next turn of the loop. */
#ifndef HOLDFAST_FILES_TREE_H
#define HOLDFAST_FILES_TREE_H

#include <dirent.h>

#include "files-walk.h"

struct level {
  DIR *listing;
  char *name;              /* in the level above */
  bool any;                /* something was removed since its listing began */
};

/* All that is in a directory, the deepest first. */
struct tree_pass {
  struct level *levels;
  size_t count, room;
  dev_t device;
  bool removes;            /* else it only looks whether it may */
  uint64_t removed;
};

struct removal {
  char *root;
  uint8_t *path;
  size_t path_length;
  bool recursive;
  struct landing landing;
  struct tree_pass pass;
  bool under_way;
};

struct removed {
  mode_t kind;
  uint64_t entries;
};

struct moving {
  char *root;
  uint8_t *from, *to;
  size_t from_length, to_length;
  bool replaces;
  struct landing source;
  struct landing target;
  struct tree_pass pass;
  bool under_way;
};

/* These are asked again while they say GOES_ON. Where it is in the landings is told by these when they are DONE. */
enum file_result removal_go_on(struct removal *removal, struct removed *removed, struct refusal *refusal);
void removal_close(struct removal *removal);
/* *second: it is the new place that was refused. */
enum file_result moving_go_on(struct moving *moving, bool *replaced, bool *second, struct refusal *refusal);
void moving_close(struct moving *moving);

#endif
