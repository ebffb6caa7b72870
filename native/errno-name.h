/* The names of errors, which not every libc tells. */
#ifndef HOLDFAST_ERRNO_NAME_H
#define HOLDFAST_ERRNO_NAME_H

/* `ENOENT` for example; `EIO` for what has no name here. */
const char *errno_name(int error);

#endif
