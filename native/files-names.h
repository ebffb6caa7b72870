/* Paths and names of files, as bytes; the same rules as src/core/file-path.ts. */
#ifndef HOLDFAST_FILES_NAMES_H
#define HOLDFAST_FILES_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A text that grows. Zeroed memory is an empty one. */
struct text {
  char *bytes;      /* always with a NUL behind it, once there is any */
  size_t length, room;
};

/* False where there is no memory for it. */
bool text_add(struct text *text, const char *bytes, size_t length);
void text_free(struct text *text);

/* Names, the last one on top. */
struct names {
  char **list;
  size_t count, room;
};

/* These are false where there is no memory. */
bool names_push(struct names *names, const char *name, size_t length);
/* The names of a path, the first one on top; without empty ones and `.`. */
bool names_push_path(struct names *names, const char *path, size_t length);
/* The one on top is the caller's. */
char *names_pop(struct names *names);
void names_free(struct names *names);

/* NULL, or what is wrong with it as a path below a root: for a sentence that begins with "the path". */
const char *path_wrong(const uint8_t *path, size_t length);
/* Whether the text of a path can only mean a directory. */
bool path_means_directory(const uint8_t *path, size_t length);
/* Whether git keeps its state under this name, on any file system. */
bool is_git_name(const char *name);

/* The name as it is shown, where it is no UTF-8: what is none as U+FFFD, as by a decoder of the web. malloc; NULL where the name itself is
   shown, or there is no memory. */
char *name_shown(const char *name);

#endif
