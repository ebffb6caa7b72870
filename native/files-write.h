/* Gives files content: whole beside their place, then into it in one step; the same steps as src/files/write.ts. */
#ifndef HOLDFAST_FILES_WRITE_H
#define HOLDFAST_FILES_WRITE_H

#include <stdbool.h>
#include <stdint.h>

#include "files-stage.h"
#include "sha256.h"

/* What is to be written. Zeroed, with `root` and `path`, it can be opened; it is closed in any case. */
struct writing {
  char *root;
  uint8_t *path;
  size_t path_length;
  bool appends;
  bool has_mode;           /* permissions of a file that is made; else what the mask leaves */
  mode_t mode;
  bool existed;            /* when it was opened */
  struct stage stage;      /* all that was sent */
  uint64_t bytes;
  struct sha256 hash;
  struct refusal failed;   /* where `reason` is set, nothing more can be done with it */
};

struct written {
  struct text path;        /* from the root; the caller frees it */
  bool created;
  bool in_place;
};

/* Leaves the landing to the caller, who closes it in every case. */
enum file_result writing_open(struct writing *writing, struct landing *landing, struct refusal *refusal);
enum file_result writing_fill(struct writing *writing, const uint8_t *bytes, size_t length, struct refusal *refusal);
enum file_result writing_commit(struct writing *writing, struct written *written, struct refusal *refusal);
void writing_close(struct writing *writing);

/* Opens what has just been seen to be a regular file; never waits. FILE_SWAPPED where it is none any more. */
enum file_result open_regular(int parent, const char *name, int flags, int *fd, struct stat *found, struct refusal *refusal);
/* For writing, or only for reading where it is a program that runs. */
enum file_result open_for_replacing(int parent, const char *name, int *fd, struct stat *found, struct refusal *refusal);
/* A place where a regular file is, or nothing. */
enum file_result require_file_place(const struct landing *landing, struct refusal *refusal);
const char *kind_in_words(mode_t mode);

/* Something that is swapped again and again is given up. */
enum { MOST_ATTEMPTS = 200 };
enum file_result refuse_swapped(struct refusal *refusal);

#endif
