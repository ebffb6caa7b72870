/* Folders of our own, for this user alone. */
#ifndef HOLDFAST_FOLDERS_H
#define HOLDFAST_FOLDERS_H

#include <stdbool.h>

/* Makes an absolute folder and those above it, 0700, where they are missing. False with errno. */
bool folders_make(const char *path);
/* The folder that holds the path. */
bool folders_make_above(const char *path);

/* Removes a folder and the files in it; folders in it only where they are empty. False with errno; what is not there is no fault. */
bool folder_remove(const char *path);

/* Puts a new file (0600) into an open folder. False with errno. */
bool folder_put(int folder, const char *name, const void *bytes, unsigned long length);

#endif
