// The guard: a forked copy of the worker that does nothing but wait for the worker's end and then
// kill what the worker left. It runs C only, with system calls and stack memory, in its own
// session; the kernel tells it of the end through a pidfd, however that end came about.
#define _GNU_SOURCE
#include "op_process.h"
#include "process_table.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum {
  ROUND_MILLISECONDS = 10,
  /// A child caught between its birth and its execution carries no mark yet: look more than once.
  QUIET_ROUNDS = 3,
  /// Two minutes of trying; what survives this hangs in the kernel.
  MOST_ROUNDS = 12000,
};

/// Gives the copy a command line of its own, so that a kill of the worker by its name does not
/// take the guard along. The range is private memory since the fork.
static void rename_self(char *arguments, size_t bytes) {
  static const char name[] = "opcluster-guard";
  prctl(PR_SET_NAME, name);
  if (arguments == NULL || bytes < 2) return;
  memset(arguments, 0, bytes);
  size_t length = sizeof(name) - 1 < bytes - 1 ? sizeof(name) - 1 : bytes - 1;
  memcpy(arguments, name, length);
}

/// Where the kernel keeps this process's command line: fields 48 and 49 of /proc/self/stat.
static char *command_line(size_t *bytes) {
  char text[2048];
  int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return NULL;
  ssize_t length = read(file, text, sizeof(text) - 1);
  close(file);
  if (length <= 0) return NULL;
  text[length] = 0;
  char *position = strrchr(text, ')');
  for (int field = 2; position != NULL && field < 48; field++) {
    position = strchr(position + 1, ' ');
  }
  if (position == NULL) return NULL;
  char *next = NULL;
  unsigned long long start = strtoull(position, &next, 10);
  unsigned long long end = strtoull(next, NULL, 10);
  if (start == 0 || end <= start || end - start > 1 << 20) return NULL;
  *bytes = (size_t)(end - start);
  return (char *)(uintptr_t)start;
}

/// Lets go of everything the worker had open: sockets and locks must end with the worker.
static int keep_only(int worker) {
  int lifted = fcntl(worker, F_DUPFD, 4);
  if (lifted < 0 || dup2(lifted, 3) < 0) return -1;
  if (close_range(4, ~0U, 0) != 0) return -1;
  int null = open("/dev/null", O_RDWR);
  if (null < 0) return -1;
  for (int place = 0; place < 3; place++) dup2(null, place);
  close(null);
  return 3;
}

static bool group_is_gone(const char *group) {
  if (group == NULL) return true;
  int outcome = op_group_kill(group);
  if (outcome == 0) outcome = op_group_remove(group);
  return outcome == 0 || outcome == ENOENT;
}

static void kill_leftovers(const char *group, const char *entry) {
  struct timespec pause = {.tv_nsec = ROUND_MILLISECONDS * 1000000L};
  int quiet = 0;
  for (int round = 0; round < MOST_ROUNDS && quiet < QUIET_ROUNDS; round++) {
    bool gone = group_is_gone(group);
    bool none = op_kill_marked(entry) == 0;
    quiet = gone && none ? quiet + 1 : 0;
    nanosleep(&pause, NULL);
  }
}

static _Noreturn void guard(int worker, const char *group, const char *entry) {
  setsid();
  size_t bytes = 0;
  char *arguments = command_line(&bytes);
  rename_self(arguments, bytes);
  if (chdir("/") != 0 || (worker = keep_only(worker)) < 0) _exit(1);
  struct pollfd watched = {.fd = worker, .events = POLLIN};
  while (poll(&watched, 1, -1) != 1 || (watched.revents & (POLLIN | POLLHUP)) == 0) continue;
  kill_leftovers(group, entry);
  _exit(0);
}

int op_guard_start(int worker, const char *group, const char *entry,
                   struct op_spawn_result *result) {
  *result = (struct op_spawn_result){.process = -1, .descriptor = -1};
  if (entry == NULL || *entry == 0) return EINVAL;
  sigset_t all, before;
  sigfillset(&all);
  // The guard inherits the blocked mask and keeps it: only SIGKILL ends it early.
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_t process = fork();
  int error = errno;
  if (process == 0) guard(worker, group, entry);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (process < 0) return error;
  result->process = process;
  result->descriptor = op_process_descriptor(process);
  return result->descriptor < 0 ? -result->descriptor : 0;
}
