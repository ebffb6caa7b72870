/* Content that is not in its place yet: a file beside its target under a name of its own, which says who writes it, or one without any
   name. The names are those of src/files/staged.ts, so that either side clears up after the other. */
#ifndef HOLDFAST_FILES_STAGE_H
#define HOLDFAST_FILES_STAGE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "files-walk.h"

enum { STAGE_NAME = 192 };

struct stage {
  int fd;                  /* -1: there is none */
  int parent;              /* a handle of its own of the directory that has it; -1 where it has no name */
  char name[STAGE_NAME];
  dev_t device;            /* of the directory */
  ino_t inode;
};

static const struct stage no_stage = {.fd = -1, .parent = -1};

/* Where the directory takes no new file it is DONE, and the stage has none. `mode` is what the mask leaves of it. */
enum file_result stage_open(struct stage *stage, int directory, mode_t mode, struct refusal *refusal);
/* Without a name, in the directory or wherever there is room for it. */
enum file_result stage_open_nameless(struct stage *stage, int directory, struct refusal *refusal);
/* Takes the name away where it is still there. */
void stage_drop(struct stage *stage);
/* Removes what killed writers left in the directory. */
void stage_sweep(int directory);

#endif
