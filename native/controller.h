/* Controllers: who is connected, what it said and what waits to be said to it. */
#ifndef HOLDFAST_CONTROLLER_H
#define HOLDFAST_CONTROLLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame.h"
#include "server.h"

struct files;

struct controller {
  struct controller *next, *previous;
  struct server *server;
  uint64_t id;
  struct source in, out;     /* the same descriptor where it is a socket */
  bool is_socket;
  bool never_blocks;         /* its descriptor for writing is non-blocking */
  bool greeted;
  bool leaving;              /* is closed once everything was said */
  bool gone;                 /* is closed at the end of the turn */
  bool at_end;               /* nothing more comes */
  bool watches_out;
  bool congested;            /* output waits for it to read */
  uint8_t *bytes;            /* what came and was not handled yet */
  size_t from, to, room;
  struct outbox outbox;
  struct timer deadline;     /* for HELLO, and for taking the last words */
  struct timer more;         /* frames that wait for the next turn */
  struct timer hold;         /* until then what is to be said waits for more */
  struct files *files;       /* what it has to do with files; NULL: nothing so far */
};

/* Takes the descriptors in every case. */
void controller_open_socket(struct server *server, int fd, const char *refusal);
bool controller_open_stream(struct server *server, int in, int out);
struct controller *controller_find(const struct server *server, uint64_t id);

/* The next frame is built in the outbox; what cannot be built or is too much closes the controller. */
struct outbox *controller_answer(struct controller *controller, uint8_t type, uint32_t tag);
void controller_send(struct controller *controller);
/* The same for what is soon followed by more: each time that is less saves a wake-up of all who are on the way. */
void controller_send_soon(struct controller *controller);
void controller_error(struct controller *controller, uint32_t tag, const char *code, const char *message, const char *field);
/* Says what waits and closes. */
void controller_leave(struct controller *controller);

/* Output is held back beyond this, so that answers do not wait behind it. */
bool controller_takes_output(const struct controller *controller);

/* At the end of each turn: sends what waits, closes what is gone. */
void controllers_flush(struct server *server);
/* Whether one is left that did not go. */
bool controllers_are_there(const struct server *server);
bool controllers_have_waiting(const struct server *server);
void controllers_close_all(struct server *server);

#endif
