#include "frame.h"

#include <stdlib.h>
#include <string.h>

enum { FIELD_HEADER = 5, NUMBER_BYTES = 8, SMALLEST_ROOM = 1024 };

/* The length that marks a frame under construction for which there was no memory. Greater than any real one. */
static const uint32_t no_memory = UINT32_MAX;

static uint32_t read_32(const uint8_t *bytes) {
  return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static void write_32(uint8_t *bytes, uint32_t number) {
  bytes[0] = (uint8_t)number;
  bytes[1] = (uint8_t)(number >> 8);
  bytes[2] = (uint8_t)(number >> 16);
  bytes[3] = (uint8_t)(number >> 24);
}

enum frame_state frame_parse(const uint8_t *bytes, size_t length, struct frame *frame, size_t *taken) {
  if (length < FRAME_HEADER) return FRAME_INCOMPLETE;
  uint32_t payload = read_32(bytes);
  frame->type = bytes[4];
  frame->tag = read_32(bytes + 8);
  frame->payload = bytes + FRAME_HEADER;
  frame->length = 0; /* until all of it is there, so that nobody reads what is not */
  /* Where the zeros are not zero this is no header, and the length means nothing. */
  if (bytes[5] | bytes[6] | bytes[7]) return FRAME_BAD_HEADER;
  if (payload > FRAME_MAX_PAYLOAD) return FRAME_TOO_LARGE;
  if (length - FRAME_HEADER < payload) return FRAME_INCOMPLETE;
  frame->length = payload;
  *taken = FRAME_HEADER + (size_t)payload;
  return FRAME_COMPLETE;
}

bool frame_length(const uint8_t *bytes, size_t length, size_t *whole) {
  if (length < FRAME_HEADER) return false;
  *whole = FRAME_HEADER + (size_t)read_32(bytes);
  return true;
}

int field_next(const struct frame *frame, size_t *at, struct field *field) {
  if (*at == frame->length) return 0;
  if (*at > frame->length) return -1;
  size_t left = frame->length - *at;
  if (left < FIELD_HEADER) return -1;
  const uint8_t *bytes = frame->payload + *at;
  uint32_t length = read_32(bytes + 1);
  if (length > left - FIELD_HEADER) return -1;
  field->key = bytes[0];
  field->bytes = bytes + FIELD_HEADER;
  field->length = length;
  *at += FIELD_HEADER + (size_t)length;
  return 1;
}

bool field_number(const struct field *field, uint64_t *number) {
  if (field->length != NUMBER_BYTES) return false;
  *number = (uint64_t)read_32(field->bytes) | (uint64_t)read_32(field->bytes + 4) << 32;
  return true;
}

/* The frame under construction stands behind `to`, its length so far in its own header; only frame_end moves `to`. So giving up
   needs nothing to be undone. */

/* Makes room for `used + extra` bytes behind `to`, of which `used` are in use already. */
static bool reserve(struct outbox *outbox, size_t used, size_t extra) {
  if (outbox->room - outbox->to >= used + extra) return true;
  size_t waiting = outbox->to - outbox->from + used;
  size_t need = waiting + extra;
  /* Moving to the front is cheap where at least half of the room is behind us: each byte is moved at most once per doubling. */
  if (need <= outbox->room && waiting <= outbox->from) {
    memcpy(outbox->bytes, outbox->bytes + outbox->from, waiting);
  } else {
    size_t room = need < SMALLEST_ROOM ? SMALLEST_ROOM : need;
    if (room < outbox->room * 2 && waiting > outbox->room / 2) room = outbox->room * 2;
    uint8_t *bytes = malloc(room);
    if (!bytes) return false;
    if (waiting) memcpy(bytes, outbox->bytes + outbox->from, waiting);
    free(outbox->bytes);
    outbox->bytes = bytes;
    outbox->room = room;
  }
  outbox->to -= outbox->from;
  outbox->from = 0;
  return true;
}

/* The length of the payload under construction; no_memory where there is none. */
static uint32_t built(const struct outbox *outbox) {
  if (outbox->room - outbox->to < FRAME_HEADER) return no_memory;
  return read_32(outbox->bytes + outbox->to);
}

bool frame_begin(struct outbox *outbox, uint8_t type, uint32_t tag) {
  if (!reserve(outbox, 0, FRAME_HEADER)) return false;
  uint8_t *header = outbox->bytes + outbox->to;
  memset(header, 0, FRAME_HEADER);
  header[4] = type;
  write_32(header + 8, tag);
  return true;
}

bool frame_add_bytes(struct outbox *outbox, uint8_t key, const void *bytes, size_t length) {
  uint32_t before = built(outbox);
  if (before == no_memory) return false;
  size_t left = FRAME_MAX_PAYLOAD - (size_t)before;
  size_t used = FRAME_HEADER + (size_t)before;
  if (left < FIELD_HEADER || length > left - FIELD_HEADER || !reserve(outbox, used, FIELD_HEADER + length)) {
    write_32(outbox->bytes + outbox->to, no_memory);
    return false;
  }
  uint8_t *field = outbox->bytes + outbox->to + used;
  field[0] = key;
  write_32(field + 1, (uint32_t)length);
  if (length) memcpy(field + FIELD_HEADER, bytes, length);
  write_32(outbox->bytes + outbox->to, (uint32_t)(before + FIELD_HEADER + length));
  return true;
}

bool frame_add_text(struct outbox *outbox, uint8_t key, const char *text) {
  return frame_add_bytes(outbox, key, text, strlen(text));
}

bool frame_add_number(struct outbox *outbox, uint8_t key, uint64_t number) {
  uint8_t bytes[NUMBER_BYTES];
  write_32(bytes, (uint32_t)number);
  write_32(bytes + 4, (uint32_t)(number >> 32));
  return frame_add_bytes(outbox, key, bytes, sizeof bytes);
}

bool frame_end(struct outbox *outbox) {
  uint32_t length = built(outbox);
  if (length == no_memory) return false;
  outbox->to += FRAME_HEADER + (size_t)length;
  return true;
}

void outbox_taken(struct outbox *outbox, size_t length) {
  outbox->from += length;
  if (outbox->from >= outbox->to) outbox_free(outbox);
}

void outbox_free(struct outbox *outbox) {
  free(outbox->bytes);
  memset(outbox, 0, sizeof *outbox);
}
