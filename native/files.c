#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "errno-name.h"
#include "files-list.h"
#include "files-tree.h"
#include "files-write.h"
#include "inherited.h"
#include "requests.h"

enum { MOST_HANDLES = 256, MOST_BYTES = 1024 * 1024, MOST_ENTRIES = 10000, USUAL_ENTRIES = 1000, MOST_LISTED_BYTES = 3 * 1024 * 1024 };
/* So much is hashed in one turn of the loop. */
enum { HASHED_PER_TURN = 4 * 1024 * 1024 };

/* What a request is about, until it is answered. */
enum { KEY_ROOT = 1, KEY_PATH, KEY_FLAGS, KEY_AFTER, KEY_MOST, KEY_HANDLE, KEY_OFFSET, KEY_LENGTH, KEY_BYTES, KEY_PURPOSE, KEY_MODE, KEY_HASH, KEY_OWN_PATH,
       KEY_SIZE, KEY_ROUTE = 16, KEY_KIND, KEY_REMOVED, KEY_OTHER_PATH, KEY_MODIFIED, KEY_ABSOLUTE, KEY_LINK, KEY_MADE, KEY_EXISTS, KEY_ENTRY, KEY_MORE };

struct reading {
  int fd;
  bool hashes, ordered;
  uint64_t at;               /* what was read in order */
  struct sha256 hash;
  struct timespec modified;  /* when it was opened */
  bool again;                /* it was written to meanwhile, so that what was hashed is compared with what is there */
  uint64_t compared;
  struct sha256 there;
};

struct handle {
  struct handle *next;
  uint64_t id;
  bool writes;
  struct reading reading;
  struct writing writing;
};

struct files {
  struct handle *handles;
  size_t count;
  struct removal *removal;   /* one of these is under way, or none */
  struct moving *moving;
  bool hashing;
};

bool files_go_on(const struct files *files) {
  return files && (files->removal || files->moving || files->hashing);
}

static void handle_free(struct handle *handle) {
  if (!handle->writes) close(handle->reading.fd);
  else writing_close(&handle->writing);
  free(handle);
}

static void end_removal(struct files *files) {
  removal_close(files->removal);
  free(files->removal);
  files->removal = NULL;
}

static void end_moving(struct files *files) {
  moving_close(files->moving);
  free(files->moving);
  files->moving = NULL;
}

void files_close(struct files *files) {
  if (!files) return;
  while (files->handles) {
    struct handle *handle = files->handles;
    files->handles = handle->next;
    handle_free(handle);
  }
  if (files->removal) end_removal(files);
  if (files->moving) end_moving(files);
  free(files);
}

/* ---- fields ---- */

static void wrong(struct request *request, const char *name) {
  if (!request->wrong) request->wrong = name;
}

static const struct field *field_of(const struct request *request, uint8_t key) {
  return &request->fields.by_key[key];
}

/* As a text of its own; NULL where it is missing, has a NUL or there is no memory. */
static char *take_text(struct request *request, uint8_t key, const char *name) {
  const struct field *field = field_of(request, key);
  if (!field->bytes || memchr(field->bytes, 0, field->length)) {
    wrong(request, name);
    return NULL;
  }
  char *text = strndup((const char *)field->bytes, field->length);
  if (!text) wrong(request, name);
  return text;
}

static char *take_root(struct request *request) {
  char *root = take_text(request, KEY_ROOT, "root");
  if (root && root[0] != '/') wrong(request, "root");
  return root;
}

/* A copy, with its length in its field. What is no path is refused by the walk. */
static uint8_t *take_path(struct request *request, uint8_t key, const char *name, size_t *length) {
  const struct field *field = field_of(request, key);
  uint8_t *path = field->bytes ? malloc(field->length + (size_t)1) : NULL;
  *length = field->length;
  if (!path) {
    wrong(request, name);
    return NULL;
  }
  if (field->length > 0) memcpy(path, field->bytes, field->length);
  path[field->length] = 0;
  return path;
}

/* ---- answers ---- */

static struct outbox *answer(struct request *request, uint8_t type) {
  return controller_answer(request->controller, type, request->frame->tag);
}

static void answer_refused_place(struct request *request, const struct refusal *refusal, bool second) {
  struct outbox *outbox = answer(request, ANSWER_FILE_REFUSED);
  frame_add_text(outbox, 1, refusal->reason);
  if (refusal->error) frame_add_text(outbox, 2, errno_name(refusal->error));
  if (refusal->what) frame_add_text(outbox, 3, refusal->what);
  if (refusal->needed) frame_add_text(outbox, 4, refusal->needed);
  if (second) frame_add_number(outbox, 5, 1);
  controller_send(request->controller);
}

static void answer_refused(struct request *request, const struct refusal *refusal) {
  answer_refused_place(request, refusal, false);
}

static void answer_refused_because(struct request *request, const char *reason, const char *what) {
  struct refusal refusal;
  refuse(&refusal, reason, what, NULL);
  answer_refused(request, &refusal);
}

static void answer_no_memory(struct request *request) {
  struct refusal refusal;
  refuse_errno(&refusal, ENOMEM);
  answer_refused(request, &refusal);
}

static uint64_t kind_number(mode_t mode) {
  return S_ISREG(mode) ? 1 : S_ISDIR(mode) ? 2 : S_ISLNK(mode) ? 3 : 4;
}

static uint64_t milliseconds(const struct timespec *time) {
  return time->tv_sec < 0 ? 0 : (uint64_t)time->tv_sec * 1000 + (uint64_t)time->tv_nsec / 1000000;
}

static void add_stat(struct outbox *outbox, const struct stat *found) {
  frame_add_number(outbox, KEY_KIND, kind_number(found->st_mode));
  frame_add_number(outbox, KEY_SIZE, (uint64_t)found->st_size);
  frame_add_number(outbox, KEY_MODE, found->st_mode & 07777);
  frame_add_number(outbox, KEY_MODIFIED, milliseconds(&found->st_mtim));
}

static void add_links(struct outbox *outbox, const struct landing *landing) {
  const char *at = landing->links.bytes;
  for (size_t link = 0; link < landing->link_count; link += 1) {
    size_t path = strlen(at), target = strlen(at + path + 1);
    frame_add_bytes(outbox, KEY_LINK, at, path + 1 + target);
    at += path + target + 2;
  }
}

/* What a walk has found, with what `stat` says where that is not the landing's own. */
static void answer_landing(struct request *request, const struct landing *landing, const struct stat *found, uint64_t handle, bool made) {
  struct text path = {0}, absolute = {0};
  bool fits = landing_path(landing, &path) && text_add(&absolute, landing->root, strlen(landing->root));
  if (fits && landing_name(landing)) {
    if (strcmp(landing->root, "/") != 0) fits = text_add(&absolute, "/", 1);
    fits = fits && text_add(&absolute, path.bytes, path.length);
  }
  if (fits) {
    struct outbox *outbox = answer(request, ANSWER_FILE);
    frame_add_bytes(outbox, KEY_OWN_PATH, path.bytes, path.length);
    frame_add_bytes(outbox, KEY_ABSOLUTE, absolute.bytes, absolute.length);
    if (found) {
      frame_add_number(outbox, KEY_EXISTS, 1);
      add_stat(outbox, found);
    }
    add_links(outbox, landing);
    if (handle) frame_add_number(outbox, KEY_HANDLE, handle);
    if (made) frame_add_number(outbox, KEY_MADE, 1);
    controller_send(request->controller);
  } else {
    answer_no_memory(request);
  }
  text_free(&path);
  text_free(&absolute);
}

static void answer_nothing(struct request *request) {
  answer(request, ANSWER_OK);
  controller_send(request->controller);
}

/* ---- handles ---- */

static struct files *files_of(struct controller *controller) {
  if (!controller->files) controller->files = calloc(1, sizeof *controller->files);
  return controller->files;
}

static struct handle *handle_find(const struct request *request, uint64_t id) {
  struct files *files = request->controller->files;
  struct handle *handle = files ? files->handles : NULL;
  while (handle && handle->id != id) handle = handle->next;
  return handle;
}

static uint64_t take_handle(struct request *request) {
  uint64_t id = take_number(request, KEY_HANDLE, "handle", 0, 1, UINT64_MAX);
  if (id == 0) wrong(request, "handle");
  return id;
}

/* NULL where it was answered. */
static struct handle *require_handle(struct request *request, bool writes) {
  uint64_t id = take_handle(request);
  if (request->wrong) {
    answer_invalid(request);
    return NULL;
  }
  struct handle *handle = handle_find(request, id);
  if (handle && handle->writes == writes) return handle;
  answer_refused_because(request, "no_such_handle", NULL);
  return NULL;
}

static void handle_remove(struct files *files, struct handle *handle) {
  struct handle **at = &files->handles;
  while (*at != handle) at = &(*at)->next;
  *at = handle->next;
  files->count -= 1;
  handle_free(handle);
}

/* A new one, which the controller has named, not in the list yet; NULL where it was answered. */
static struct handle *handle_make(struct request *request) {
  uint64_t id = take_handle(request);
  if (!request->wrong && handle_find(request, id)) wrong(request, "handle");
  if (request->wrong) {
    answer_invalid(request);
    return NULL;
  }
  struct files *files = files_of(request->controller);
  struct handle *handle = files && files->count < MOST_HANDLES ? calloc(1, sizeof *handle) : NULL;
  if (handle) {
    handle->id = id;
    return handle;
  }
  answer_refused_because(request, "exhausted", NULL);
  return NULL;
}

static void handle_add(struct files *files, struct handle *handle) {
  handle->next = files->handles;
  files->handles = handle;
  files->count += 1;
}

/* ---- looking ---- */

static void file_look(struct request *request) {
  char *root = take_root(request);
  const struct field *path = field_of(request, KEY_PATH);
  bool keeps = take_flag(request, KEY_FLAGS, "flags");
  if (!path->bytes) wrong(request, "path");
  if (request->wrong) {
    answer_invalid(request);
  } else {
    struct landing landing;
    struct refusal refusal;
    if (walk(&landing, root, path->bytes, path->length, keeps ? WALK_KEEP_LAST : 0, &refusal) != FILE_DONE) answer_refused(request, &refusal);
    else answer_landing(request, &landing, landing.exists ? &landing.stat : NULL, 0, false);
    landing_close(&landing);
  }
  free(root);
}

/* One byte kind, 8 bytes size, name, NUL, what a link says. False where it is gone, *full where the frame has no more room. */
static void add_entry(struct outbox *outbox, int directory, const char *name, size_t *used) {
  struct stat found;
  char target[4096];
  ssize_t length = 0;
  size_t own = strlen(name);
  uint8_t entry[9 + 256 * 4 + sizeof target];
  if (own > 256 * 4 - 1 || fstatat(directory, name, &found, AT_SYMLINK_NOFOLLOW) != 0) return;
  entry[0] = (uint8_t)kind_number(found.st_mode);
  for (int at = 0; at < 8; at += 1) entry[1 + at] = (uint8_t)((uint64_t)found.st_size >> (8 * at));
  memcpy(entry + 9, name, own + 1);
  if (S_ISLNK(found.st_mode)) length = readlinkat(directory, name, target, sizeof target);
  if (length > 0) memcpy(entry + 9 + own + 1, target, (size_t)length);
  size_t whole = 9 + own + 1 + (size_t)(length > 0 ? length : 0);
  frame_add_bytes(outbox, KEY_ENTRY, entry, whole);
  *used += whole + 5;
}

static void answer_entries(struct request *request, const struct landing *landing, const struct listing *listing) {
  struct text path = {0};
  int directory = landing_directory(landing);
  size_t used = 0, at = 0;
  if (!landing_path(landing, &path)) {
    answer_no_memory(request);
    return;
  }
  struct outbox *outbox = answer(request, ANSWER_ENTRIES);
  frame_add_bytes(outbox, KEY_OWN_PATH, path.bytes, path.length);
  for (; at < listing->count && used < MOST_LISTED_BYTES; at += 1) add_entry(outbox, directory, listing->entries[at].name, &used);
  if (listing->more || at < listing->count) frame_add_number(outbox, KEY_MORE, 1);
  controller_send(request->controller);
  text_free(&path);
}

static void file_list(struct request *request) {
  const struct field *path = field_of(request, KEY_PATH);
  uint64_t most = take_number(request, KEY_MOST, "most", USUAL_ENTRIES, 0, MOST_ENTRIES);
  char *root = take_root(request), *after = field_of(request, KEY_AFTER)->bytes ? take_text(request, KEY_AFTER, "after") : NULL;
  if (!path->bytes) wrong(request, "path");
  if (request->wrong) {
    answer_invalid(request);
  } else {
    struct landing landing;
    struct refusal refusal;
    struct listing listing = {0};
    enum file_result result = walk(&landing, root, path->bytes, path->length, 0, &refusal);
    if (result == FILE_DONE && !landing.exists) result = refuse(&refusal, "file_missing", NULL, NULL);
    else if (result == FILE_DONE && !landing.is_directory)
      result = refuse(&refusal, "file_kind", S_ISREG(landing.stat.st_mode) ? "a file" : "no directory", "a directory");
    if (result == FILE_DONE) result = list_names(&listing, landing_directory(&landing), after, (size_t)most, &refusal);
    if (result == FILE_DONE) answer_entries(request, &landing, &listing);
    else answer_refused(request, &refusal);
    listing_free(&listing);
    landing_close(&landing);
  }
  free(root);
  free(after);
}

static enum file_result make_directory(struct landing *landing, bool *made, struct refusal *refusal) {
  *made = false;
  if (landing->is_directory) return FILE_DONE;
  if (landing->exists) return refuse(refusal, "file_kind", "a file", "a directory");
  if (mkdirat(landing_parent(landing), landing_name(landing), 0777) != 0) return errno == EEXIST ? FILE_SWAPPED : refuse_errno(refusal, errno);
  *made = true;
  if (fstatat(landing_parent(landing), landing_name(landing), &landing->stat, AT_SYMLINK_NOFOLLOW) == 0) landing->exists = true;
  return FILE_DONE;
}

static void file_make_directory(struct request *request) {
  char *root = take_root(request);
  const struct field *path = field_of(request, KEY_PATH);
  if (!path->bytes) wrong(request, "path");
  if (request->wrong) {
    answer_invalid(request);
    free(root);
    return;
  }
  struct landing landing = {.top = -1};
  struct refusal refusal;
  bool made = false;
  enum file_result result = FILE_SWAPPED;
  for (int attempt = 0; attempt < MOST_ATTEMPTS && result == FILE_SWAPPED; attempt += 1) {
    landing_close(&landing);
    result = walk(&landing, root, path->bytes, path->length, WALK_CHANGES | WALK_MAKE_PARENTS, &refusal);
    if (result == FILE_DONE) result = make_directory(&landing, &made, &refusal);
  }
  if (result == FILE_SWAPPED) result = refuse_swapped(&refusal);
  if (result == FILE_DONE) answer_landing(request, &landing, landing.exists ? &landing.stat : NULL, 0, made);
  else answer_refused(request, &refusal);
  landing_close(&landing);
  free(root);
}

/* ---- reading ---- */

static enum file_result open_once(struct handle *handle, struct landing *landing, struct stat *found, const char *root, const struct field *path,
                                  struct refusal *refusal) {
  enum file_result result = walk(landing, root, path->bytes, path->length, 0, refusal);
  if (result == FILE_DONE) result = require_file_place(landing, refusal);
  if (result == FILE_DONE && !landing->exists) result = refuse(refusal, "file_missing", NULL, NULL);
  if (result != FILE_DONE) return result;
  return open_regular(landing_parent(landing), landing_name(landing), O_RDONLY, &handle->reading.fd, found, refusal);
}

static void file_open(struct request *request) {
  char *root = take_root(request);
  const struct field *path = field_of(request, KEY_PATH);
  bool hashes = take_flag(request, KEY_FLAGS, "flags");
  if (!path->bytes) wrong(request, "path");
  struct handle *handle = handle_make(request);
  if (!handle) {
    free(root);
    return;
  }
  struct landing landing = {.top = -1};
  struct refusal refusal;
  struct stat found;
  handle->reading = (struct reading){.fd = -1, .hashes = hashes, .ordered = true};
  enum file_result result = FILE_SWAPPED;
  for (int attempt = 0; attempt < MOST_ATTEMPTS && result == FILE_SWAPPED; attempt += 1) {
    landing_close(&landing);
    result = open_once(handle, &landing, &found, root, path, &refusal);
  }
  if (result == FILE_SWAPPED) result = refuse_swapped(&refusal);
  if (result == FILE_DONE && !server_can_spare(request->controller->server, handle->reading.fd)) {
    close(handle->reading.fd);
    result = refuse(&refusal, "exhausted", NULL, NULL);
  }
  if (result == FILE_DONE) {
    handle->reading.modified = found.st_mtim;
    sha256_begin(&handle->reading.hash);
    handle_add(request->controller->files, handle);
    answer_landing(request, &landing, &found, handle->id, false);
  } else {
    free(handle);
    answer_refused(request, &refusal);
  }
  landing_close(&landing);
  free(root);
}

static ssize_t read_at(int fd, uint8_t *bytes, size_t length, uint64_t offset) {
  size_t got = 0;
  while (got < length) {
    ssize_t more = pread(fd, bytes + got, length - got, (off_t)(offset + got));
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) return -1;
    if (more == 0) break;
    got += (size_t)more;
  }
  return (ssize_t)got;
}

static uint8_t piece[MOST_BYTES];

static void file_read(struct request *request) {
  uint64_t offset = take_number(request, KEY_OFFSET, "offset", 0, 0, INT64_MAX - MOST_BYTES);
  uint64_t length = take_number(request, KEY_LENGTH, "length", MOST_BYTES, 0, MOST_BYTES);
  struct handle *handle = require_handle(request, false);
  if (!handle) return;
  struct reading *reading = &handle->reading;
  ssize_t got = read_at(reading->fd, piece, (size_t)length, offset);
  if (got < 0) {
    struct refusal refusal;
    refuse_errno(&refusal, errno);
    answer_refused(request, &refusal);
    return;
  }
  if (reading->hashes) {
    reading->ordered = reading->ordered && offset == reading->at;
    reading->at += (uint64_t)got;
    if (reading->ordered) sha256_add(&reading->hash, piece, (size_t)got);
  }
  frame_add_bytes(answer(request, ANSWER_BYTES), KEY_BYTES, piece, (size_t)got);
  controller_send(request->controller);
}

/* Of what was written to meanwhile: compares what is there with what was read, a part in each turn of the loop. What was only added to
   still has these bytes. */
static enum file_result compare_again(struct reading *reading, struct refusal *refusal) {
  if (!reading->again) {
    reading->again = true;
    reading->compared = 0;
    sha256_begin(&reading->there);
  }
  for (size_t done = 0; done < HASHED_PER_TURN && reading->compared < reading->at; done += sizeof piece) {
    uint64_t left = reading->at - reading->compared;
    ssize_t got = read_at(reading->fd, piece, left < sizeof piece ? (size_t)left : sizeof piece, reading->compared);
    if (got < 0) return refuse_errno(refusal, errno);
    if (got == 0) return refuse(refusal, "hash", "it became shorter while it was read", NULL);
    sha256_add(&reading->there, piece, (size_t)got);
    reading->compared += (uint64_t)got;
  }
  if (reading->compared < reading->at) return FILE_GOES_ON;
  uint8_t one[SHA256_BYTES], other[SHA256_BYTES];
  sha256_end(&reading->hash, one);
  sha256_end(&reading->there, other);
  reading->again = false;
  return memcmp(one, other, sizeof one) == 0 ? FILE_DONE : refuse(refusal, "hash", "it was written to while it was read", NULL);
}

static void file_hash(struct request *request) {
  struct handle *handle = require_handle(request, false);
  if (!handle) return;
  struct reading *reading = &handle->reading;
  struct refusal refusal;
  struct stat now;
  enum file_result result = FILE_DONE;
  if (!reading->hashes || !reading->ordered) result = refuse(&refusal, "order", NULL, NULL);
  else if (fstat(reading->fd, &now) != 0) result = refuse_errno(&refusal, errno);
  else if (reading->again || now.st_mtim.tv_sec != reading->modified.tv_sec || now.st_mtim.tv_nsec != reading->modified.tv_nsec)
    result = compare_again(reading, &refusal);
  request->controller->files->hashing = result == FILE_GOES_ON;
  if (result == FILE_GOES_ON) return;
  if (result == FILE_REFUSED) {
    answer_refused(request, &refusal);
    return;
  }
  uint8_t digest[SHA256_BYTES];
  sha256_end(&reading->hash, digest);
  struct outbox *outbox = answer(request, ANSWER_HASH);
  frame_add_bytes(outbox, KEY_HASH, digest, sizeof digest);
  frame_add_number(outbox, KEY_SIZE, reading->at);
  controller_send(request->controller);
}

/* Of either kind. */
static void file_close(struct request *request) {
  uint64_t id = take_handle(request);
  if (request->wrong) {
    answer_invalid(request);
    return;
  }
  struct handle *handle = handle_find(request, id);
  if (handle) handle_remove(request->controller->files, handle);
  answer_nothing(request);
}

/* ---- writing ---- */

static void file_stage(struct request *request) {
  uint64_t purpose = take_number(request, KEY_PURPOSE, "purpose", 1, 1, 2);
  uint64_t mode = take_number(request, KEY_MODE, "mode", 0, 0, 0777);
  size_t length;
  char *root = take_root(request);
  uint8_t *path = take_path(request, KEY_PATH, "path", &length);
  struct handle *handle = handle_make(request);
  if (!handle) {
    free(root);
    free(path);
    return;
  }
  struct landing landing = {.top = -1};
  struct refusal refusal;
  handle->writes = true;
  handle->writing = (struct writing){.root = root, .path = path, .path_length = length, .appends = purpose == 2, .mode = (mode_t)mode, .stage = no_stage};
  handle->writing.has_mode = field_of(request, KEY_MODE)->bytes != NULL;
  enum file_result result = writing_open(&handle->writing, &landing, &refusal);
  if (result == FILE_DONE && !server_can_spare(request->controller->server, handle->writing.stage.fd)) result = refuse(&refusal, "exhausted", NULL, NULL);
  if (result == FILE_DONE) {
    handle_add(request->controller->files, handle);
    answer_landing(request, &landing, landing.exists ? &landing.stat : NULL, handle->id, false);
  } else {
    handle_free(handle);
    answer_refused(request, &refusal);
  }
  landing_close(&landing);
}

static void file_fill(struct request *request) {
  const struct field *bytes = field_of(request, KEY_BYTES);
  if (!bytes->bytes || bytes->length > MOST_BYTES) wrong(request, "bytes");
  struct handle *handle = require_handle(request, true);
  if (!handle) return;
  struct refusal refusal;
  if (writing_fill(&handle->writing, bytes->bytes, bytes->length, &refusal) == FILE_DONE) answer_nothing(request);
  else answer_refused(request, &refusal);
}

static void file_commit(struct request *request) {
  const struct field *expected = field_of(request, KEY_HASH);
  if (!expected->bytes || expected->length != SHA256_BYTES) wrong(request, "hash");
  struct handle *handle = require_handle(request, true);
  if (!handle) return;
  uint8_t digest[SHA256_BYTES];
  struct refusal refusal;
  struct written written = {0};
  enum file_result result;
  sha256_end(&handle->writing.hash, digest);
  if (!handle->writing.failed.reason && memcmp(digest, expected->bytes, sizeof digest) != 0) result = refuse(&refusal, "hash", "other bytes arrived than were sent", NULL);
  else result = writing_commit(&handle->writing, &written, &refusal);
  if (result == FILE_DONE) {
    struct outbox *outbox = answer(request, ANSWER_WRITTEN);
    frame_add_bytes(outbox, KEY_OWN_PATH, written.path.bytes, written.path.length);
    frame_add_number(outbox, KEY_SIZE, handle->writing.bytes);
    if (written.created) frame_add_number(outbox, KEY_MADE, 1);
    frame_add_number(outbox, KEY_ROUTE, written.in_place ? 2 : 1);
    controller_send(request->controller);
  } else {
    answer_refused(request, &refusal);
  }
  text_free(&written.path);
  handle_remove(request->controller->files, handle);
}

/* ---- removing and renaming ---- */

static bool begin_removal(struct request *request, struct files *files) {
  struct removal *removal = calloc(1, sizeof *removal);
  if (!removal) return false;
  removal->landing.top = -1;
  removal->root = take_root(request);
  removal->path = take_path(request, KEY_PATH, "path", &removal->path_length);
  removal->recursive = take_flag(request, KEY_FLAGS, "flags");
  files->removal = removal;
  return true;
}

static void file_remove(struct request *request) {
  struct files *files = files_of(request->controller);
  if (!files || (!files->removal && !begin_removal(request, files))) {
    answer_no_memory(request);
    return;
  }
  struct removed removed;
  struct refusal refusal;
  struct text path = {0};
  enum file_result result = request->wrong ? FILE_REFUSED : removal_go_on(files->removal, &removed, &refusal);
  if (result == FILE_GOES_ON) return;
  if (request->wrong) {
    answer_invalid(request);
  } else if (result == FILE_REFUSED) {
    answer_refused(request, &refusal);
  } else if (!landing_path(&files->removal->landing, &path)) {
    answer_no_memory(request);
  } else {
    struct outbox *outbox = answer(request, ANSWER_REMOVED);
    frame_add_bytes(outbox, KEY_OWN_PATH, path.bytes, path.length);
    frame_add_number(outbox, KEY_KIND, kind_number(removed.kind));
    frame_add_number(outbox, KEY_REMOVED, removed.entries);
    controller_send(request->controller);
  }
  text_free(&path);
  end_removal(files);
}

static bool begin_moving(struct request *request, struct files *files) {
  struct moving *moving = calloc(1, sizeof *moving);
  if (!moving) return false;
  moving->source.top = moving->target.top = -1;
  moving->root = take_root(request);
  moving->from = take_path(request, KEY_PATH, "path", &moving->from_length);
  moving->to = take_path(request, KEY_OTHER_PATH, "to", &moving->to_length);
  moving->replaces = take_flag(request, KEY_FLAGS, "flags");
  files->moving = moving;
  return true;
}

static void file_move(struct request *request) {
  struct files *files = files_of(request->controller);
  if (!files || (!files->moving && !begin_moving(request, files))) {
    answer_no_memory(request);
    return;
  }
  bool replaced = false, second = false;
  struct refusal refusal;
  struct text from = {0}, to = {0};
  enum file_result result = request->wrong ? FILE_REFUSED : moving_go_on(files->moving, &replaced, &second, &refusal);
  if (result == FILE_GOES_ON) return;
  if (request->wrong) {
    answer_invalid(request);
  } else if (result == FILE_REFUSED) {
    answer_refused_place(request, &refusal, second);
  } else if (!landing_path(&files->moving->source, &from) || !landing_path(&files->moving->target, &to)) {
    answer_no_memory(request);
  } else {
    struct outbox *outbox = answer(request, ANSWER_WRITTEN);
    frame_add_bytes(outbox, KEY_OWN_PATH, to.bytes, to.length);
    frame_add_bytes(outbox, KEY_OTHER_PATH, from.bytes, from.length);
    if (!replaced) frame_add_number(outbox, KEY_MADE, 1);
    controller_send(request->controller);
  }
  text_free(&from);
  text_free(&to);
  end_moving(files);
}

static void handle_request(struct request *request) {
  switch (request->frame->type) {
    case FRAME_FILE_LOOK: file_look(request); break;
    case FRAME_FILE_LIST: file_list(request); break;
    case FRAME_FILE_OPEN: file_open(request); break;
    case FRAME_FILE_READ: file_read(request); break;
    case FRAME_FILE_CLOSE: file_close(request); break;
    case FRAME_FILE_STAGE: file_stage(request); break;
    case FRAME_FILE_FILL: file_fill(request); break;
    case FRAME_FILE_COMMIT: file_commit(request); break;
    case FRAME_FILE_MKDIR: file_make_directory(request); break;
    case FRAME_FILE_REMOVE: file_remove(request); break;
    case FRAME_FILE_MOVE: file_move(request); break;
    default: file_hash(request);
  }
}

void request_file(struct request *request) {
  /* The supervisor keeps its own files to itself; these are like those that commands make. */
  mode_t own = umask(inherited_usually.mask);
  handle_request(request);
  umask(own);
}
