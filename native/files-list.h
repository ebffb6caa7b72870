/* The entries of a directory, by name. */
#ifndef HOLDFAST_FILES_LIST_H
#define HOLDFAST_FILES_LIST_H

#include "files-walk.h"

struct listed {
  char *name;
  char *shown;             /* by which it is sorted; NULL where that is the name */
};

struct listing {
  struct listed *entries;
  size_t count, room;
  bool more;
};

/* The first `most` names behind `after` (NULL: all are); few more than twice that are held at any time. The listing is the caller's. */
enum file_result list_names(struct listing *listing, int directory, const char *after, size_t most, struct refusal *refusal);
void listing_free(struct listing *listing);

#endif
