/* Runs frame.c against vectors and mutations. Reads lines, answers each with one line:
     d HEX                   what the bytes hold, in the words below
     e TYPE TAG FIELD...     builds a frame behind what waits already: `ok`, or `no` where it is not to be had
                             FIELD is KEY:n:NUMBER, KEY:t:HEX (a text) or KEY:b:HEX
     t N                     takes N bytes (or what there is) from the front of what waits, as hex
     m N                     lets the N-th allocation from now on fail, and all after it; 0: none
   Words of `d`: for each frame `frame:TYPE:TAG`, its fields `KEY=HEX` (`KEY=#LENGTH:FNV` above 64 bytes, with `(NUMBER)` behind a number),
   `malformed` where they do not add up; at last `good`, `incomplete:BYTES`, `too_large:TAG` or `bad_header:TAG`.
   Built with -Wl,--wrap=malloc. */
#include "../frame.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 64, MAX_PREFIXES = 256 };

static size_t allocations_left; /* 0: no end */
static bool failing;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size) {
  if (failing) return NULL;
  if (allocations_left && --allocations_left == 0) {
    failing = true;
    return NULL;
  }
  return __real_malloc(size);
}

static void print_hex(const uint8_t *bytes, size_t length) {
  for (size_t i = 0; i < length; i++) {
    putchar("0123456789abcdef"[bytes[i] >> 4]);
    putchar("0123456789abcdef"[bytes[i] & 15]);
  }
}

static uint32_t fnv(const uint8_t *bytes, size_t length) {
  uint32_t hash = 2166136261u;
  for (size_t i = 0; i < length; i++) hash = (hash ^ bytes[i]) * 16777619u;
  return hash;
}

static unsigned nibble(char digit) {
  return (unsigned)(digit <= '9' ? digit - '0' : digit - 'a' + 10) & 15;
}

/* The bytes that the text stands for, in memory of exactly that size, so that reading beyond it is seen. */
static uint8_t *from_hex(const char *text, size_t *length) {
  *length = strlen(text) / 2;
  uint8_t *bytes = __real_malloc(*length ? *length : 1);
  for (size_t i = 0; bytes && i < *length; i++) bytes[i] = (uint8_t)(nibble(text[2 * i]) << 4 | nibble(text[2 * i + 1]));
  return bytes;
}

static void print_fields(const struct frame *frame) {
  struct field field;
  size_t at = 0;
  int more;
  while ((more = field_next(frame, &at, &field)) == 1) {
    printf(" %u=", field.key);
    if (field.length > SHOWN) printf("#%" PRIu32 ":%08" PRIx32, field.length, fnv(field.bytes, field.length));
    else print_hex(field.bytes, field.length);
    uint64_t number;
    if (field_number(&field, &number)) printf("(%" PRIu64 ")", number);
  }
  if (more < 0) printf(" malformed");
}

/* A frame of which a part is missing is never taken for anything else, and nothing beyond that part is read. */
static bool prefixes_agree(const uint8_t *bytes, size_t length) {
  for (size_t part = 0; part < length && part < MAX_PREFIXES; part++) {
    uint8_t *copy = __real_malloc(part ? part : 1);
    if (!copy) return false;
    memcpy(copy, bytes, part);
    struct frame frame;
    size_t taken;
    enum frame_state state = frame_parse(copy, part, &frame, &taken);
    free(copy);
    if (state != FRAME_INCOMPLETE) return false;
  }
  return true;
}

static void decode(const char *text) {
  size_t length, at = 0;
  uint8_t *bytes = from_hex(text, &length);
  if (!bytes) abort();
  for (;;) {
    struct frame frame = {0};
    size_t taken = 0;
    switch (frame_parse(bytes + at, length - at, &frame, &taken)) {
      case FRAME_COMPLETE:
        if (!prefixes_agree(bytes + at, taken)) printf("prefix ");
        printf("frame:%u:%" PRIu32, frame.type, frame.tag);
        print_fields(&frame);
        printf(" ");
        at += taken;
        continue;
      case FRAME_INCOMPLETE:
        if (at == length) printf("good");
        else printf("incomplete:%zu", length - at);
        break;
      case FRAME_TOO_LARGE: printf("too_large:%" PRIu32, frame.tag); break;
      case FRAME_BAD_HEADER: printf("bad_header:%" PRIu32, frame.tag); break;
    }
    break;
  }
  free(bytes);
}

static bool add_field(struct outbox *outbox, char *text) {
  char *kind = strchr(text, ':');
  if (!kind || !kind[1] || kind[2] != ':') abort();
  uint8_t key = (uint8_t)strtoul(text, NULL, 10);
  const char *value = kind + 3;
  if (kind[1] == 'n') return frame_add_number(outbox, key, strtoull(value, NULL, 10));
  size_t length;
  uint8_t *bytes = from_hex(value, &length);
  if (!bytes) abort();
  bool done;
  if (kind[1] == 't') {
    char *words = __real_malloc(length + 1);
    if (!words) abort();
    memcpy(words, bytes, length);
    words[length] = 0;
    done = frame_add_text(outbox, key, words);
    free(words);
  } else {
    done = frame_add_bytes(outbox, key, length ? bytes : NULL, length);
  }
  free(bytes);
  return done;
}

static void encode(struct outbox *outbox, char *text) {
  struct outbox before = *outbox;
  char *rest = NULL;
  char *type = strtok_r(text, " ", &rest), *tag = strtok_r(NULL, " ", &rest);
  if (!type || !tag) abort();
  bool done = frame_begin(outbox, (uint8_t)strtoul(type, NULL, 10), (uint32_t)strtoul(tag, NULL, 10));
  /* Whoever builds a frame may leave out looking at each step: the end tells. */
  for (char *field; (field = strtok_r(NULL, " ", &rest));) done = add_field(outbox, field) && done;
  if (frame_end(outbox) != done) printf("disagrees ");
  if (!done && outbox->to - outbox->from != before.to - before.from) printf("leaves ");
  printf("%s", done ? "ok" : "no");
}

static void take(struct outbox *outbox, size_t length) {
  if (length > outbox->to - outbox->from) length = outbox->to - outbox->from;
  print_hex(outbox->bytes + outbox->from, length);
  outbox_taken(outbox, length);
  if (outbox->from == outbox->to && outbox->bytes) printf(" keeps");
}

int main(void) {
  struct outbox outbox = {0};
  char *line = NULL;
  size_t room = 0;
  ssize_t length;
  while ((length = getline(&line, &room, stdin)) > 0) {
    if (line[length - 1] == '\n') line[--length] = 0;
    char *rest = length > 2 ? line + 2 : line + length;
    switch (line[0]) {
      case 'd': decode(rest); break;
      case 'e': encode(&outbox, rest); break;
      case 't': take(&outbox, strtoul(rest, NULL, 10)); break;
      case 'm':
        allocations_left = strtoul(rest, NULL, 10);
        failing = false;
        break;
      default: printf("?");
    }
    putchar('\n');
    fflush(stdout);
  }
  outbox_free(&outbox);
  free(line);
  return 0;
}
