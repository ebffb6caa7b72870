/* Frames of docs/supervisor-protocol.md: reading them from a stream of bytes and building them. */
#ifndef HOLDFAST_FRAME_H
#define HOLDFAST_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FRAME_HEADER = 12, FRAME_MAX_PAYLOAD = 4 * 1024 * 1024 };

enum frame_type {
  FRAME_HELLO = 1, FRAME_START, FRAME_WATCH, FRAME_UNWATCH, FRAME_INPUT, FRAME_END_INPUT, FRAME_SIGNAL, FRAME_STOP,
  FRAME_STATUS, FRAME_TREE, FRAME_RUNS, FRAME_RESIZE, FRAME_ACK, FRAME_PING, FRAME_QUIT, FRAME_FORGET,
  FRAME_FILE_LOOK = 32, FRAME_FILE_LIST, FRAME_FILE_OPEN, FRAME_FILE_READ, FRAME_FILE_CLOSE, FRAME_FILE_STAGE, FRAME_FILE_FILL,
  FRAME_FILE_COMMIT, FRAME_FILE_MKDIR, FRAME_FILE_REMOVE, FRAME_FILE_MOVE, FRAME_FILE_HASH,
  ANSWER_WELCOME = 128, ANSWER_STARTED, ANSWER_FAILED, ANSWER_STATUS, ANSWER_OUTPUT, ANSWER_ENDED, ANSWER_TAKEN,
  ANSWER_DONE, ANSWER_PROCESSES, ANSWER_RUNS, ANSWER_OK, ANSWER_ERROR,
  ANSWER_FILE = 144, ANSWER_ENTRIES, ANSWER_BYTES, ANSWER_WRITTEN, ANSWER_REMOVED, ANSWER_HASH, ANSWER_FILE_REFUSED
};

/* A frame in place: payload points into the bytes that were parsed. */
struct frame {
  uint8_t type;
  uint32_t tag;
  const uint8_t *payload;
  uint32_t length;
};

enum frame_state { FRAME_INCOMPLETE, FRAME_COMPLETE, FRAME_TOO_LARGE, FRAME_BAD_HEADER };

/* Looks at the beginning of `bytes`. FRAME_COMPLETE sets *frame and *taken, the bytes that it occupies; every other state only
   reads the header when it is there (then frame->tag is set). Never reads beyond `length`. */
enum frame_state frame_parse(const uint8_t *bytes, size_t length, struct frame *frame, size_t *taken);

/* How many bytes the frame occupies that begins here; false where its header is not there yet. Of a header that was found to be one. */
bool frame_length(const uint8_t *bytes, size_t length, size_t *whole);

struct field {
  uint8_t key;
  const uint8_t *bytes;
  uint32_t length;
};

/* Steps through the fields of a payload: *at begins at 0. Returns 1 and sets *field, 0 at the end, -1 where they do not add up. */
int field_next(const struct frame *frame, size_t *at, struct field *field);

/* True and the number where the field is 8 bytes long. */
bool field_number(const struct field *field, uint64_t *number);

/* A growing queue of bytes to send. Zeroed memory is an empty one. */
struct outbox {
  uint8_t *bytes;
  size_t from, to, room;
};

/* Building one frame: begin, any number of fields, end. False where memory is exhausted; then the outbox is as it was before begin. */
bool frame_begin(struct outbox *outbox, uint8_t type, uint32_t tag);
bool frame_add_bytes(struct outbox *outbox, uint8_t key, const void *bytes, size_t length);
bool frame_add_text(struct outbox *outbox, uint8_t key, const char *text);
bool frame_add_number(struct outbox *outbox, uint8_t key, uint64_t number);
bool frame_end(struct outbox *outbox);
/* Forgets what was taken from the front, and frees the memory where all was. */
void outbox_taken(struct outbox *outbox, size_t length);
void outbox_free(struct outbox *outbox);

#endif
