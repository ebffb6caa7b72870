/* The order in which the bytes of both streams came: docs/log-format.md. src/engine/order.ts writes the same. */
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUFFER = 4096, MAX_BYTES = 4 * 1024 * 1024, NUMBER_BYTES = 10, MAX_NAME = 400 };

struct order {
  int folder, fd;
  int turn;        /* the stream whose piece is being added up; 0 before the first byte */
  uint64_t length; /* of that piece */
  uint64_t written;
  bool given_up;   /* at its limit, or where the disk refused it: the file ends early, which its readers know */
  size_t waiting;
  uint8_t buffer[BUFFER];
  char name[];
};

struct order *order_open(int folder_fd, const char *name) {
  size_t length = strlen(name);
  struct order *order = length <= MAX_NAME ? calloc(1, sizeof *order + length + 1) : NULL;
  if (order == NULL) return NULL;
  memcpy(order->name, name, length);
  order->folder = folder_fd;
  order->fd = -1;
  return order;
}

void order_flush(struct order *order) {
  /* Before the first number only one stream came. */
  if (order->waiting == 0 || order->given_up || (order->fd < 0 && order->waiting == 1)) return;
  if (order->fd < 0) order->fd = openat(order->folder, order->name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  size_t done = 0;
  while (order->fd >= 0 && done < order->waiting) {
    ssize_t written = write(order->fd, order->buffer + done, order->waiting - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    done += (size_t)written;
  }
  if (done < order->waiting) order->given_up = true;
  order->written += done;
  order->waiting = 0;
}

static void end_piece(struct order *order) {
  uint8_t number[NUMBER_BYTES];
  size_t size = 0;
  uint64_t rest = order->length;
  for (; rest >= 0x80; rest >>= 7) number[size++] = (uint8_t)(rest | 0x80);
  number[size++] = (uint8_t)rest;
  if (order->written + order->waiting + size > MAX_BYTES) {
    order_flush(order);
    order->given_up = true;
  }
  if (order->given_up) return;
  if (order->waiting + size > BUFFER) order_flush(order);
  memcpy(order->buffer + order->waiting, number, size);
  order->waiting += size;
}

void order_add(struct order *order, int stream, uint64_t bytes) {
  if (bytes == 0 || order->given_up) return;
  if (order->turn == stream) {
    order->length += bytes;
    return;
  }
  if (order->turn != 0) end_piece(order);
  else order->buffer[order->waiting++] = (uint8_t)('0' + stream);
  order->turn = stream;
  order->length = bytes;
}

void order_finish(struct order *order) {
  bool both = order->fd >= 0 || order->waiting > 1;
  if (!both || order->length == 0 || order->given_up) return;
  end_piece(order);
  order->turn = 3 - order->turn;
  order->length = 0;
  order_flush(order);
}

void order_free(struct order *order) {
  if (order == NULL) return;
  if (order->fd >= 0) close(order->fd);
  free(order);
}
