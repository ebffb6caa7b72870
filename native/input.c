#include "input.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <termios.h>
#include <unistd.h>

#include "controller.h"
#include "fault.h"
#include "run.h"

struct input_piece {
  struct input_piece *next;
  struct asker asker;     /* controller 0: nobody */
  size_t length, done;
  uint8_t bytes[];
};

static void tell_taken(struct run *run, const struct asker *asker) {
  struct controller *controller = controller_find(run->server, asker->controller);
  if (!controller) return;
  struct outbox *outbox = controller_answer(controller, ANSWER_TAKEN, asker->tag);
  frame_add_text(outbox, 1, run->id);
  controller_send(controller);
}

static void first_is_taken(struct run *run) {
  struct input *input = &run->input;
  struct input_piece *piece = input->first;
  input->first = piece->next;
  if (!input->first) input->last = NULL;
  input->waiting -= piece->length;
  tell_taken(run, &piece->asker);
  free(piece);
}

static void close_pipe(struct run *run) {
  struct input *input = &run->input;
  if (input->source.fd < 0) return;
  /* The other descriptor of a pseudo-terminal would keep this one in the list of the kernel. */
  if (input->watched) server_unwatch(run->server, &input->source);
  close(input->source.fd);
  input->source.fd = -1;
  input->watched = false;
}

/* What nobody will read counts as taken. */
static void break_off(struct run *run) {
  run->input.broken = true;
  while (run->input.first) first_is_taken(run);
  close_pipe(run);
}

static void watch_pipe(struct run *run, bool on) {
  struct input *input = &run->input;
  if (input->watched == on) return;
  if (on) input->watched = server_watch(run->server, &input->source, EPOLLOUT);
  else server_unwatch(run->server, &input->source);
  if (!on) input->watched = false;
  else if (!input->watched) break_off(run);
}

static void pass_on(struct run *run) {
  struct input *input = &run->input;
  while (input->first && input->source.fd >= 0) {
    struct input_piece *piece = input->first;
    ssize_t written = write(input->source.fd, piece->bytes + piece->done, piece->length - piece->done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) {
      watch_pipe(run, true);
      return;
    }
    if (written < 0) {
      break_off(run);
      return;
    }
    piece->done += (size_t)written;
    FAULT("input-taken", 0);
    if (piece->done == piece->length) first_is_taken(run);
  }
  if (input->source.fd < 0) return;
  watch_pipe(run, false);
  if (input->ends) close_pipe(run);
}

static void input_ready(struct source *source, uint32_t events) {
  struct run *run = owner_of(source, struct run, input.source);
  (void)events;
  pass_on(run);
}

void input_open(struct input *input, int fd, bool pty) {
  *input = (struct input){.source = {.fd = fd, .ready = input_ready}, .pty = pty};
}

static enum input_answer append(struct run *run, const struct asker *asker, const uint8_t *bytes, size_t length) {
  struct input *input = &run->input;
  struct input_piece *piece = malloc(sizeof *piece + length);
  if (!piece) return INPUT_NO_MEMORY;
  *piece = (struct input_piece){.length = length};
  if (asker) piece->asker = *asker;
  memcpy(piece->bytes, bytes, length);
  if (input->last) input->last->next = piece;
  else input->first = piece;
  input->last = piece;
  input->waiting += length;
  if (length > 0) input->line_is_open = bytes[length - 1] != '\n';
  FAULT("input-queued", 0);
  pass_on(run);
  return INPUT_ADDED;
}

enum input_answer input_add(struct run *run, const struct asker *asker, const uint8_t *bytes, size_t length) {
  struct input *input = &run->input;
  if (input->ends) return INPUT_CLOSED;
  if (input->broken) {
    if (asker) tell_taken(run, asker);
    return INPUT_ADDED;
  }
  if (asker && length > MOST_INPUT_WAITING - (input->waiting < MOST_INPUT_WAITING ? input->waiting : MOST_INPUT_WAITING)) return INPUT_FULL;
  return append(run, asker, bytes, length);
}

/* A pseudo-terminal has no end: the character that says it delivers what was typed of a line, or, without that, nothing, which programs
   take as the end. */
static void type_end(struct run *run) {
  struct input *input = &run->input;
  struct termios modes;
  uint8_t end = 4;
  if (tcgetattr(input->source.fd, &modes) == 0 && modes.c_cc[VEOF] != _POSIX_VDISABLE) end = (uint8_t)modes.c_cc[VEOF];
  const uint8_t twice[] = {end, end};
  append(run, NULL, twice, input->line_is_open ? 2 : 1);
}

void input_end(struct run *run) {
  struct input *input = &run->input;
  if (input->ends) return;
  if (input->pty && input->source.fd >= 0) type_end(run);
  input->ends = true;
  if (!input->first) close_pipe(run);
}

void input_close(struct run *run) {
  break_off(run);
}

bool input_takes(const struct input *input) {
  if (input->source.fd < 0 || input->ends) return false;
  struct pollfd pipe = {.fd = input->source.fd};
  return poll(&pipe, 1, 0) == 0 || (pipe.revents & (POLLERR | POLLHUP)) == 0;
}
