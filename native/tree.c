/* The processes of a run, see tree.h. Everything is read anew from /proc: what was seen a moment ago may be somebody else by now. */
#include "tree.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

/* Tags of runs are above, see docs/supervisor-protocol.md. */
static const uint64_t lowest_tag = UINT64_C(1) << 62;

enum {
  MOST_THREADS = 256,       /* of one process that are looked at */
  MOST_ENVIRONMENT = 8 << 20, /* Linux allows 6 MiB */
  MOST_KEPT_MARKS = 1024,   /* of one process, as long as a search lasts */
  MOST_ROUNDS = 4           /* of killing what was forked meanwhile; who kills until nothing is left asks again */
};

/* Reads a file of /proc that holds one record, which comes in one piece, up to the room, with a NUL behind it. Returns the length, or -1. */
static ssize_t read_file(const char *path, char *room, size_t size) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  ssize_t length;
  do length = read(file, room, size - 1);
  while (length < 0 && errno == EINTR);
  close(file);
  room[length > 0 ? length : 0] = '\0';
  return length > 0 ? length : -1;
}

/* The text of a stat file. A name may hold spaces, parentheses and line feeds; nothing behind it does. */
static bool parse_stat(const char *text, size_t length, struct process *process, uint64_t *threads) {
  const char *open = memchr(text, '(', length);
  const char *close = memrchr(text, ')', length);
  if (!open || !close || close < open) return false;
  const size_t name = (size_t)(close - open - 1);
  const size_t kept = name < sizeof process->name ? name : sizeof process->name - 1;
  memcpy(process->name, open + 1, kept);
  process->name[kept] = '\0';
  long parent, group, session;
  const int found = sscanf(close + 1, " %c %ld %ld %ld %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %" SCNu64 " %*d %" SCNu64,
                           &process->state, &parent, &group, &session, threads, &process->start);
  process->parent = (pid_t)parent;
  process->group = (pid_t)group;
  process->session = (pid_t)session;
  return found == 6;
}

static bool is_over(const struct process *process) {
  return process->state == 'Z' || process->state == 'X' || process->state == 'x';
}

bool process_read(pid_t pid, struct process *process) {
  char path[64], text[1024];
  snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
  const ssize_t length = read_file(path, text, sizeof text);
  uint64_t threads;
  process->pid = pid;
  if (length < 0 || !parse_stat(text, (size_t)length, process, &threads)) return false;
  /* Its first thread is over while others live on: so does the process. */
  if (process->state == 'Z' && threads > 1) process->state = 'S';
  return true;
}

void process_identity(uint64_t start, char text[40]) {
  static char boot[9];
  if (boot[0] == '\0') {
    char id[64];
    const bool known = read_file("/proc/sys/kernel/random/boot_id", id, sizeof id) >= 8;
    snprintf(boot, sizeof boot, "%.8s", known ? id : "00000000");
  }
  snprintf(text, 40, "%s:%" PRIu64, boot, start);
}

uint64_t process_age_ms(const struct process *process) {
  struct timespec now;
  const long ticks = sysconf(_SC_CLK_TCK);
  if (ticks <= 0 || clock_gettime(CLOCK_BOOTTIME, &now) < 0) return 0;
  const uint64_t now_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
  const uint64_t start_ms = process->start * 1000 / (uint64_t)ticks;
  return now_ms > start_ms ? now_ms - start_ms : 0;
}

static bool is_at_work(char state) {
  return state == 'R' || state == 'D';
}

bool process_busy(const struct process *process) {
  if (is_at_work(process->state)) return true;
  if (is_over(process)) return false;
  /* The state is that of its first thread, which may wait for the others. */
  char path[64];
  snprintf(path, sizeof path, "/proc/%ld/task", (long)process->pid);
  DIR *threads = opendir(path);
  if (!threads) return false;
  bool busy = false;
  const struct dirent *entry;
  for (int count = 0; !busy && count < MOST_THREADS && (entry = readdir(threads)); count += 1) {
    char stat_path[96], text[1024];
    struct process thread;
    uint64_t ignored;
    if (!isdigit((unsigned char)entry->d_name[0]) || strtol(entry->d_name, NULL, 10) == (long)process->pid) continue;
    snprintf(stat_path, sizeof stat_path, "/proc/%ld/task/%.20s/stat", (long)process->pid, entry->d_name);
    const ssize_t length = read_file(stat_path, text, sizeof text);
    busy = length > 0 && parse_stat(text, (size_t)length, &thread, &ignored) && is_at_work(thread.state);
  }
  closedir(threads);
  return busy;
}

/* All processes at about the same time, sorted by pid. */
struct snapshot {
  struct process *all;
  size_t count, room;
};

static bool snapshot_add(struct snapshot *snapshot, const struct process *process) {
  if (snapshot->count == snapshot->room) {
    const size_t room = snapshot->room ? snapshot->room * 2 : 256;
    struct process *all = realloc(snapshot->all, room * sizeof *all);
    if (!all) return false;
    snapshot->all = all;
    snapshot->room = room;
  }
  snapshot->all[snapshot->count++] = *process;
  return true;
}

static int by_pid(const void *left, const void *right) {
  const pid_t a = ((const struct process *)left)->pid, b = ((const struct process *)right)->pid;
  return (a > b) - (a < b);
}

/* Processes with a lower pid are left out. */
static bool snapshot_take(struct snapshot *snapshot, pid_t lowest) {
  *snapshot = (struct snapshot){0};
  DIR *folder = opendir("/proc");
  if (!folder) return false;
  bool whole = true;
  const struct dirent *entry;
  while (whole && (errno = 0, entry = readdir(folder))) {
    struct process process;
    if (!isdigit((unsigned char)entry->d_name[0])) continue;
    const pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
    if (pid >= lowest && process_read(pid, &process)) whole = snapshot_add(snapshot, &process);
  }
  if (errno != 0) whole = false;
  closedir(folder);
  if (!whole) {
    free(snapshot->all);
    *snapshot = (struct snapshot){0};
    return false;
  }
  if (snapshot->count > 0) qsort(snapshot->all, snapshot->count, sizeof *snapshot->all, by_pid);
  return true;
}

static const struct process *find_in(const struct process *sorted, size_t count, pid_t pid) {
  const struct process key = {.pid = pid};
  return count > 0 ? bsearch(&key, sorted, count, sizeof key, by_pid) : NULL;
}

/* Whether a process belongs to what is looked for: not decided yet, decided, or decided while going up from one below it. */
enum membership { OPEN, MEMBER, STRANGER };

/* What is read of a process only where somebody asks. */
struct traits {
  bool has_tag, has_marks;
  uint64_t tag;
  char *marks;              /* the value of HOLDFAST_RUN; NULL where there is none, or it has to be read each time */
  bool marks_are_long;
};

struct census {
  struct snapshot snapshot;
  struct traits *traits;    /* one for each process */
  pid_t lowest;
};

static void census_free(struct census *census) {
  for (size_t at = 0; census->traits && at < census->snapshot.count; at += 1) free(census->traits[at].marks);
  free(census->traits);
  free(census->snapshot.all);
  *census = (struct census){0};
}

static bool census_take(struct census *census, pid_t lowest) {
  *census = (struct census){.lowest = lowest};
  if (!snapshot_take(&census->snapshot, lowest)) return false;
  census->traits = calloc(census->snapshot.count + 1, sizeof *census->traits);
  if (census->traits) return true;
  census_free(census);
  return false;
}

/* Of all searches between tree_share_begin() and tree_share_end(). */
static struct census shared;
static bool shares, has_shared;

void tree_share_anew(void) {
  if (has_shared) census_free(&shared);
  has_shared = false;
}

void tree_share_begin(void) {
  tree_share_anew();
  shares = true;
}

void tree_share_end(void) {
  tree_share_anew();
  shares = false;
}

/* True where the shared one goes down to that pid. */
static bool share_census(pid_t lowest) {
  if (has_shared && shared.lowest <= lowest) return true;
  /* Who asks for less than the one before may be followed by others. */
  const pid_t from = has_shared ? 0 : lowest;
  tree_share_anew();
  has_shared = census_take(&shared, from);
  return has_shared;
}

struct search {
  struct census *census;       /* the shared one, or our own */
  struct census own;
  struct snapshot snapshot;    /* of the census, as it is */
  enum membership *membership; /* one for each process of the snapshot */
  size_t *way;                 /* room for the processes from one up to its first ancestor */
};

static bool search_begin(struct search *search, pid_t lowest) {
  *search = (struct search){0};
  if (!(shares ? share_census(lowest) : census_take(&search->own, lowest))) return false;
  search->census = shares ? &shared : &search->own;
  search->snapshot = search->census->snapshot;
  const size_t count = search->snapshot.count + 1;
  search->membership = calloc(count, sizeof *search->membership);
  search->way = calloc(count, sizeof *search->way);
  return search->membership && search->way;
}

static void search_end(struct search *search) {
  census_free(&search->own);
  free(search->membership);
  free(search->way);
  *search = (struct search){0};
}

/* The index of the parent, or the number of processes where there is none. A child is never older than its parent: then the number was
   given to somebody else while the snapshot was taken. */
static size_t parent_of(const struct search *search, size_t index) {
  const struct process *child = &search->snapshot.all[index];
  const struct process *parent = find_in(search->snapshot.all, search->snapshot.count, child->parent);
  if (!parent || parent == child || parent->start > child->start) return search->snapshot.count;
  return (size_t)(parent - search->snapshot.all);
}

/* Children of members are members, and all others are strangers. Goes up from each process to the first that is decided, and decides
   all on the way. */
static void spread(struct search *search) {
  const size_t count = search->snapshot.count;
  for (size_t index = 0; index < count; index += 1) {
    size_t length = 0, at = index;
    while (at < count && search->membership[at] == OPEN && length < count) {
      search->way[length++] = at;
      at = parent_of(search, at);
    }
    const enum membership decided = at < count && search->membership[at] == MEMBER ? MEMBER : STRANGER;
    for (size_t step = 0; step < length; step += 1) search->membership[search->way[step]] = decided;
  }
}

/* The supervisor and everything above it is never a member, whatever it carries. */
static void leave_out(struct search *search, pid_t pid) {
  const struct process *process = find_in(search->snapshot.all, search->snapshot.count, pid);
  size_t at = process ? (size_t)(process - search->snapshot.all) : search->snapshot.count;
  while (at < search->snapshot.count && search->membership[at] != STRANGER) {
    search->membership[at] = STRANGER;
    at = parent_of(search, at);
  }
}

static bool is_below(const struct search *search, size_t index, pid_t ancestor) {
  /* By the number of the parent, because the ancestor itself may have been left out of the snapshot. */
  for (size_t at = index, steps = 0; at < search->snapshot.count && steps < search->snapshot.count; steps += 1) {
    if (search->snapshot.all[at].parent == ancestor) return true;
    at = parent_of(search, at);
  }
  return false;
}

/* The soft limit RLIMIT_RTTIME, which everybody may read; 0 where it is not known or unlimited. */
static uint64_t tag_of(pid_t pid) {
  static const char label[] = "Max realtime timeout";
  char path[64], text[4096];
  snprintf(path, sizeof path, "/proc/%ld/limits", (long)pid);
  if (read_file(path, text, sizeof text) < 0) return 0;
  const char *line = strstr(text, label);
  return line ? strtoull(line + sizeof label - 1, NULL, 10) : 0;
}

static const char mark_name[] = "HOLDFAST_RUN=";

/* Takes an environment byte by byte. */
struct mark_reader {
  size_t name_at;  /* bytes of the name that have come; beyond it inside its value; SIZE_MAX in another variable */
  const char *mark;
  size_t mark_length;
  size_t part_at;  /* bytes of the mark that the part has so far; SIZE_MAX where it differs */
  char *values;    /* of the variable, with a slash behind each: a command may have it more than once */
  size_t length, room;
};

/* True where the byte is of the value of the variable, or just behind it. */
static bool is_in_value(struct mark_reader *reader, char byte) {
  const size_t name_length = sizeof mark_name - 1;
  const bool inside = reader->name_at == name_length;
  if (byte == '\0') reader->name_at = 0;
  else if (!inside && reader->name_at < name_length) reader->name_at = byte == mark_name[reader->name_at] ? reader->name_at + 1 : SIZE_MAX;
  return inside;
}

/* True once a part is the mark. */
static bool match_mark(struct mark_reader *reader, char byte) {
  if (!is_in_value(reader, byte)) {
    reader->part_at = 0;
    return false;
  }
  const bool ends = byte == '/' || byte == '\0';
  if (ends && reader->part_at == reader->mark_length) return true;
  if (ends) reader->part_at = 0;
  else if (reader->part_at < reader->mark_length && reader->mark[reader->part_at] == byte) reader->part_at += 1;
  else reader->part_at = SIZE_MAX;
  return false;
}

/* True where the room is too small. */
static bool keep_value(struct mark_reader *reader, char byte) {
  if (!is_in_value(reader, byte)) return false;
  if (reader->length == reader->room) return true;
  reader->values[reader->length++] = byte == '\0' ? '/' : byte;
  return false;
}

/* Until `take` says true, which is returned then. */
static bool read_environment(pid_t pid, struct mark_reader *reader, bool (*take)(struct mark_reader *, char)) {
  char path[64], bytes[16 * 1024];
  snprintf(path, sizeof path, "/proc/%ld/environ", (long)pid);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  bool found = false;
  for (size_t total = 0; !found && total < MOST_ENVIRONMENT;) {
    const ssize_t got = read(file, bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      found = got == 0 && take(reader, '\0');
      break;
    }
    for (ssize_t at = 0; !found && at < got; at += 1) found = take(reader, bytes[at]);
    total += (size_t)got;
  }
  close(file);
  return found;
}

static void read_marks(pid_t pid, struct traits *traits) {
  char values[MOST_KEPT_MARKS];
  struct mark_reader reader = {.values = values, .room = sizeof values};
  traits->has_marks = true;
  traits->marks_are_long = read_environment(pid, &reader, keep_value);
  if (reader.length == 0 || traits->marks_are_long) return;
  traits->marks = strndup(values, reader.length);
  traits->marks_are_long = traits->marks == NULL;
}

static bool has_part(const char *marks, const char *mark) {
  const size_t length = strlen(mark);
  for (const char *end; (end = strchr(marks, '/')); marks = end + 1)
    if ((size_t)(end - marks) == length && memcmp(marks, mark, length) == 0) return true;
  return false;
}

static bool carries_mark(const struct search *search, size_t index, const char *mark) {
  struct traits *traits = &search->census->traits[index];
  const pid_t pid = search->snapshot.all[index].pid;
  if (!mark || mark[0] == '\0') return false;
  if (!traits->has_marks) read_marks(pid, traits);
  if (traits->marks) return has_part(traits->marks, mark);
  struct mark_reader reader = {.mark = mark, .mark_length = strlen(mark)};
  return traits->marks_are_long && read_environment(pid, &reader, match_mark);
}

static uint64_t tag_in(const struct search *search, size_t index) {
  struct traits *traits = &search->census->traits[index];
  if (!traits->has_tag) traits->tag = tag_of(search->snapshot.all[index].pid);
  traits->has_tag = true;
  return traits->tag;
}

/* Whether the number of the leader tells by itself that a group or session is of the run. A number is given again only when no group
   has it any more, so that it is ours while the leader is there, dead or alive, and somebody else's when another process has it. */
enum group_evidence { GROUP_OURS, GROUP_FOREIGN, GROUP_UNSURE };

static enum group_evidence judge_group(const struct search *search, const struct tree_key *key) {
  const struct process *leader = find_in(search->snapshot.all, search->snapshot.count, key->leader);
  if (!leader) return GROUP_UNSURE;
  return leader->start == key->start ? GROUP_OURS : GROUP_FOREIGN;
}

static bool shows_membership(const struct search *search, const struct tree_key *key, pid_t supervisor, size_t index,
                             enum group_evidence evidence) {
  const struct process *process = &search->snapshot.all[index];
  if (process->start < key->start) return false;
  if (process->pid == key->leader) return process->start == key->start;
  const bool in_group = process->group == key->leader || process->session == key->leader;
  if (in_group && evidence == GROUP_OURS) return true;
  if (is_over(process)) return false;
  const uint64_t tag = tag_in(search, index);
  if (key->tag != 0 && tag == key->tag) return true;
  /* The leader is gone, and whoever had its number after it may be gone as well: only another run of the supervisor could be taken for
     this one, and that has another tag. */
  const bool of_another = tag > lowest_tag && tag < UINT64_MAX;
  if (in_group && evidence == GROUP_UNSURE && !of_another && is_below(search, index, supervisor)) return true;
  return carries_mark(search, index, key->mark);
}

static bool lives_in(const struct search *search, size_t index) {
  return search->membership[index] == MEMBER && !is_over(&search->snapshot.all[index]);
}

/* Copies the living members. */
static ssize_t take_members(const struct search *search, struct process **found) {
  size_t members = 0, taken = 0;
  for (size_t index = 0; index < search->snapshot.count; index += 1) members += lives_in(search, index);
  if (members == 0) return 0;
  *found = malloc(members * sizeof **found);
  if (!*found) return -1;
  for (size_t index = 0; index < search->snapshot.count; index += 1)
    if (lives_in(search, index)) (*found)[taken++] = search->snapshot.all[index];
  return (ssize_t)members;
}

/* Whether /proc is the kernel's own: in some containers another program makes this file up, and is seconds behind. */
static bool kernel_tells(int loadavg) {
  struct stat file, folder;
  return fstat(loadavg, &file) == 0 && stat("/proc/self", &folder) == 0 && file.st_dev == folder.st_dev;
}

/* The pid that was given last, or 0. */
static pid_t newest_pid(void) {
  char text[256];
  const int file = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t length = kernel_tells(file) ? read(file, text, sizeof text - 1) : -1;
  close(file);
  text[length > 0 ? length : 0] = '\0';
  const char *last = strrchr(text, ' ');
  return last ? (pid_t)strtol(last, NULL, 10) : 0;
}

/* More processes and threads than this are not started in a millisecond; so pids last at least for some time. */
static const uint64_t pids_per_ms = 100;

/* No process of the run has a lower pid: pids rise from the leader's on as long as they have not begun anew since. That spares reading
   about most of the other processes. */
static pid_t lowest_of(const struct tree_key *key) {
  static uint64_t most;
  char text[32];
  if (most == 0 && read_file("/proc/sys/kernel/pid_max", text, sizeof text) > 0) most = strtoull(text, NULL, 10);
  const struct process leader = {.start = key->start};
  return newest_pid() >= key->leader && process_age_ms(&leader) < most / pids_per_ms ? key->leader : 0;
}

ssize_t tree_find(const struct tree_key *key, pid_t supervisor, struct process **found) {
  struct search search;
  *found = NULL;
  if (!search_begin(&search, lowest_of(key))) {
    search_end(&search);
    return -1;
  }
  leave_out(&search, supervisor);
  leave_out(&search, getpid());
  const enum group_evidence evidence = judge_group(&search, key);
  for (size_t index = 0; index < search.snapshot.count; index += 1)
    if (search.membership[index] == OPEN && shows_membership(&search, key, supervisor, index, evidence)) search.membership[index] = MEMBER;
  spread(&search);
  const ssize_t count = take_members(&search, found);
  search_end(&search);
  return count;
}

static bool is_known(const pid_t *known, size_t count, pid_t pid) {
  size_t from = 0, to = count;
  while (from < to) {
    const size_t middle = from + (to - from) / 2;
    if (known[middle] == pid) return true;
    if (known[middle] < pid) from = middle + 1;
    else to = middle;
  }
  return false;
}

/* An emulated kernel may not know of it. */
bool tree_gets_orphans(void) {
  int set = 0;
  return prctl(PR_GET_CHILD_SUBREAPER, &set, 0L, 0L, 0L) == 0 && set == 1;
}

/* What loses its parent is given to the supervisor in the same step in which the parent dies, at the end of this list: so nobody is
   missed as long as each child is known. An unknown one counts also when it is dead, because it may have had children a moment ago. */
bool tree_surely_empty(pid_t supervisor, const pid_t *known, size_t count) {
  if (supervisor != getpid() || !tree_gets_orphans()) return false;
  char path[80], text[4096];
  snprintf(path, sizeof path, "/proc/%ld/task/%ld/children", (long)supervisor, (long)supervisor);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  bool all_known = true;
  long pid = 0;
  for (;;) {
    const ssize_t got = read(file, text, sizeof text);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) all_known = false;
    if (got <= 0) break;
    for (ssize_t at = 0; at < got; at += 1) {
      if (isdigit((unsigned char)text[at])) {
        pid = pid * 10 + (text[at] - '0');
      } else if (pid > 0) {
        all_known = all_known && is_known(known, count, (pid_t)pid);
        pid = 0;
      }
    }
  }
  close(file);
  return all_known && (pid == 0 || is_known(known, count, (pid_t)pid));
}

static bool is_the_same(const struct process *process) {
  struct process now;
  return process_read(process->pid, &now) && now.start == process->start;
}

/* Through a descriptor that stays with one process: compared after it was opened, it cannot be a stranger's. */
static bool signal_one(const struct process *process, int signal) {
  const int descriptor = (int)syscall(SYS_pidfd_open, (long)process->pid, 0L);
  if (descriptor >= 0) {
    const bool sent = is_the_same(process) && syscall(SYS_pidfd_send_signal, (long)descriptor, (long)signal, NULL, 0L) == 0;
    const bool refused = !sent && (errno == ENOSYS || errno == EINVAL);
    close(descriptor);
    if (!refused) return sent;
  } else if (errno == ESRCH) {
    return false;
  }
  /* An old kernel, or no descriptor left. */
  return is_the_same(process) && kill(process->pid, signal) == 0;
}

/* What is stopped acts on a signal only when it goes on; but who asks for a stop must get one. */
static bool wants_continue(int signal) {
  return signal != 0 && signal != SIGKILL && signal != SIGCONT && signal != SIGSTOP && signal != SIGTSTP && signal != SIGTTIN && signal != SIGTTOU;
}

static bool signal_and_continue(const struct process *process, int signal) {
  if (!signal_one(process, signal)) return false;
  if (wants_continue(signal)) signal_one(process, SIGCONT);
  return true;
}

static bool is_among(const struct process *sorted, size_t count, const struct process *process) {
  const struct process *same = find_in(sorted, count, process->pid);
  return same && same->start == process->start;
}

/* The second half of both ways to signal: `find` is asked until it finds nobody new. Only KILL is sent to what appears meanwhile: after
   any other signal that may be what a process starts to clean up. */
typedef ssize_t finder(const void *what, pid_t pid, struct process **found);

static size_t signal_found(finder *find, const void *what, pid_t pid, int signal, pid_t group) {
  struct process *before = NULL;
  ssize_t before_count = 0;
  size_t reached = 0;
  for (int round = 0; round < (signal == SIGKILL ? MOST_ROUNDS : 1); round += 1) {
    struct process *found = NULL;
    if (round > 0) tree_share_anew();
    const ssize_t count = find(what, pid, &found);
    size_t fresh = 0;
    const bool to_group = count > 0 && group > 0 && round == 0 && kill(-group, signal) == 0;
    if (to_group && wants_continue(signal)) kill(-group, SIGCONT);
    for (ssize_t at = 0; at < count; at += 1) {
      if (is_among(before, (size_t)before_count, &found[at])) continue;
      /* A process in its group got it with the group, in the same step as all that it forks. */
      const bool with_group = to_group && found[at].group == group;
      fresh += !with_group;
      if (with_group || signal_and_continue(&found[at], signal)) reached += 1;
    }
    free(before);
    before = found;
    before_count = count > 0 ? count : 0;
    if (fresh == 0) break;
  }
  free(before);
  return reached;
}

static ssize_t find_run(const void *key, pid_t supervisor, struct process **found) {
  return tree_find(key, supervisor, found);
}

size_t tree_signal(const struct tree_key *key, pid_t supervisor, int signal, bool leader_unreaped) {
  struct process leader;
  const bool group_ours = leader_unreaped && process_read(key->leader, &leader) && leader.start == key->start && leader.group == key->leader;
  return signal_found(find_run, key, supervisor, signal, group_ours ? key->leader : 0);
}

static ssize_t find_descendants(const void *unused, pid_t ancestor, struct process **found) {
  (void)unused;
  struct search search;
  *found = NULL;
  if (!search_begin(&search, 0)) {
    search_end(&search);
    return -1;
  }
  leave_out(&search, ancestor);
  for (size_t index = 0; index < search.snapshot.count; index += 1) {
    const size_t parent = parent_of(&search, index);
    if (search.membership[index] == OPEN && parent < search.snapshot.count && search.snapshot.all[parent].pid == ancestor)
      search.membership[index] = MEMBER;
  }
  spread(&search);
  const ssize_t count = take_members(&search, found);
  search_end(&search);
  return count;
}

size_t descendants_signal(pid_t ancestor, int signal) {
  return signal_found(find_descendants, NULL, ancestor, signal, 0);
}
