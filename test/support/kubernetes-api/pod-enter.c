/*
 * Starts a program as PID 1 of new namespaces, or inside those of a process that was started so.
 *
 *   pod-enter new SETUP ROOT CWD UID GID CAPS NNP ENVFILE CGROUP PROGRAM...   SETUP is run by sh in the new namespaces: it mounts ROOT
 *   pod-enter in PID CWD UID GID CAPS NNP ENVFILE CGROUP PROGRAM...
 *
 * CAPS is a mask in hexadecimal. ENVFILE holds NAME=VALUE, each ended by a NUL. CGROUP is a file for the pid, or "". Descriptor 3 is told
 * "pid N\n", then either nothing (it is closed by the exec: the program runs) or "failed CODE text". Its status is the program's; 128 and
 * the signal's number where a signal ended it. It dies with who started it, and its tree with it.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void fail(int status, const char *format, ...) {
  va_list list;
  va_start(list, format);
  dprintf(3, "failed %d ", status);
  vdprintf(3, format, list);
  va_end(list);
  _exit(status);
}

/* Whoever runs the tests may have left more open than is ours: nothing of it is a container's. */
static void close_inherited(void) {
  DIR *listing = opendir("/proc/self/fd");
  if (!listing) return;
  int keep = dirfd(listing);
  for (struct dirent *entry; (entry = readdir(listing));) {
    int fd = atoi(entry->d_name);
    if (fd > 3 && fd != keep) close(fd);
  }
  closedir(listing);
}

static char **environment(const char *path) {
  struct stat facts;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &facts) < 0) fail(128, "%s: %s", path, strerror(errno));
  char *text = calloc(1, (size_t)facts.st_size + 1);
  if (!text || read(fd, text, (size_t)facts.st_size) != facts.st_size) fail(128, "%s cannot be read", path);
  close(fd);
  size_t count = 0;
  for (off_t i = 0; i < facts.st_size; i++) count += text[i] == 0;
  char **list = calloc(count + 1, sizeof *list);
  if (!list) fail(128, "out of memory");
  for (size_t i = 0; i < count; i++, text += strlen(text) + 1) list[i] = text;
  return list;
}

static void join_cgroup(const char *path) {
  if (!*path) return;
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  /* 0 is who writes. */
  if (fd < 0 || write(fd, "0", 1) != 1) fail(128, "%s: %s", path, strerror(errno));
  close(fd);
}

static void run_setup(const char *script) {
  pid_t child = fork();
  if (child < 0) fail(128, "fork: %s", strerror(errno));
  if (child == 0) {
    close(3);
    execl("/bin/sh", "sh", "-ec", script, (char *)0);
    _exit(127);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  if (status != 0) fail(128, "the root could not be set up (%d)", status);
}

static void become(unsigned uid, unsigned gid, unsigned long long caps, int no_new_privileges) {
  for (int cap = 0; cap < 64; cap++) {
    if (!(caps >> cap & 1) && prctl(PR_CAPBSET_READ, cap) == 1) prctl(PR_CAPBSET_DROP, cap);
  }
  if (setgroups(0, 0) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0) fail(128, "user %u: %s", uid, strerror(errno));
  if (uid == 0) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {
        {(unsigned)caps, (unsigned)caps, 0},
        {(unsigned)(caps >> 32), (unsigned)(caps >> 32), 0},
    };
    syscall(SYS_capset, &header, data);
  }
  if (no_new_privileges) prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

/* PATH is that of the program's environment. */
static void run(char **argv, char **variables) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, 0);
  signal(SIGPIPE, SIG_DFL);
  fcntl(3, F_SETFD, FD_CLOEXEC);
  environ = variables;
  execvpe(argv[0], argv, variables);
  const char *why = errno == ENOENT && !strchr(argv[0], '/') ? "executable file not found in $PATH" : strerror(errno);
  if (errno == ENOENT && strchr(argv[0], '/')) why = "no such file or directory";
  if (errno == EACCES) why = "permission denied";
  fail(errno == ENOENT ? 127 : 126, "%s", why);
}

/* What the child has open, this process lets go of: ends of pipes mean the child's. */
static int wait_for(pid_t child) {
  int nothing = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; fd++) dup2(nothing, fd);
  close(3);
  close(nothing);
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return 128;
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void enter(const char *pid) {
  static const char *const kinds[] = {"ipc", "uts", "pid", "mnt"};
  char path[64];
  int fds[4];
  snprintf(path, sizeof path, "/proc/%s/root", pid);
  int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) fail(128, "container not running");
  for (int i = 0; i < 4; i++) {
    snprintf(path, sizeof path, "/proc/%s/ns/%s", pid, kinds[i]);
    fds[i] = open(path, O_RDONLY | O_CLOEXEC);
  }
  for (int i = 0; i < 4; i++) {
    if (fds[i] < 0 || setns(fds[i], 0) < 0) fail(128, "container not running");
  }
  if (fchdir(root) < 0 || chroot(".") < 0) fail(128, "root: %s", strerror(errno));
}

int main(int argc, char **argv) {
  if (argc < 10) return 64;
  int is_new = !strcmp(argv[1], "new");
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() == 1) return 128;
  close_inherited();
  /* argv + shift: CWD UID GID CAPS NNP ENVFILE CGROUP PROGRAM... */
  char **terms = argv + (is_new ? 4 : 3);
  char **variables = environment(terms[5]);
  join_cgroup(terms[6]);
  if (is_new) {
    if (unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWUTS | CLONE_NEWIPC) < 0) fail(128, "unshare: %s", strerror(errno));
  } else {
    enter(argv[2]);
  }
  pid_t child = fork();
  if (child < 0) fail(128, "fork: %s", strerror(errno));
  if (child > 0) {
    dprintf(3, "pid %d\n", child);
    return wait_for(child);
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setsid();
  if (is_new) {
    run_setup(argv[2]);
    /* What was mounted at ROOT takes the place of everything. */
    if (chdir(argv[3]) < 0 || syscall(SYS_pivot_root, ".", ".") < 0) fail(128, "root: %s", strerror(errno));
    if (umount2(".", MNT_DETACH) < 0 || chdir("/") < 0) fail(128, "root: %s", strerror(errno));
  }
  if (chdir(terms[0]) < 0) fail(128, "chdir to cwd (\"%s\") set in config.json failed: %s", terms[0], strerror(errno));
  become((unsigned)strtoul(terms[1], 0, 10), (unsigned)strtoul(terms[2], 0, 10), strtoull(terms[3], 0, 16), terms[4][0] == '1');
  /* Becoming another user clears it. */
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  run(terms + 7, variables);
}
