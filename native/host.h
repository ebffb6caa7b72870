/* The place of a supervisor on a machine: its socket, and the lock that makes it the only one there. */
#ifndef HOLDFAST_HOST_H
#define HOLDFAST_HOST_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/un.h>

struct place {
  struct sockaddr_un address;
  int lock, door;
  dev_t device;     /* of the socket, once it is there */
  ino_t inode;
};

enum place_result { PLACE_OURS, PLACE_TAKEN, PLACE_REFUSED };

/* PLACE_REFUSED has said why on standard error. */
enum place_result place_take(struct place *place, const char *path);
/* Whether who looks for it still finds it. */
bool place_stands(const struct place *place);
/* Makes what is missing of it anew: folder, lock, socket; a new door closes the old one. False where somebody else has taken it, or it
   cannot be made. */
bool place_renew(struct place *place);
/* Removes the socket and the file of the lock if they are still ours. The lock is held on until the end. */
void place_leave(struct place *place);

#endif
