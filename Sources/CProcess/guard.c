// The guard: a forked copy of the worker that does nothing but wait, for the worker's end to kill
// what the worker left, and for the end of the lease to kill exclusive operations. It runs C only,
// with system calls and stack memory, in its own session; the kernel tells it of the worker's end
// through a pidfd, however that came about, and of the lease's through a timer that the worker,
// stopped or cut off, does not hold up.
#define _GNU_SOURCE
#include "lease.h"
#include "op_process.h"
#include "process_table.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum {
  ROUND_MILLISECONDS = 10,
  /// A child caught between its birth and its execution carries no mark yet: look more than once.
  QUIET_ROUNDS = 3,
  /// Between two looks at what should be dead already.
  EXPIRED_MILLISECONDS = 200,
  /// Two minutes of trying; what survives this hangs in the kernel.
  MOST_ROUNDS = 12000,
};

/// Where the guard keeps its descriptors once it has let go of all others.
enum { WORKER = 3, WAKE = 4, TIMER = 5 };

/// Lets go of everything the worker had open: sockets and locks must end with the worker.
static bool keep_only(int worker, int wake) {
  int timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
  if (wake < 0) wake = timer;
  int lifted[3] = {fcntl(worker, F_DUPFD, 6), fcntl(wake, F_DUPFD, 6), fcntl(timer, F_DUPFD, 6)};
  for (int at = 0; at < 3; at++) {
    if (lifted[at] < 0 || dup2(lifted[at], WORKER + at) < 0) return false;
  }
  if (close_range(TIMER + 1, ~0U, 0) != 0) return false;
  int null = open("/dev/null", O_RDWR);
  if (null < 0) return false;
  for (int place = 0; place < 3; place++) dup2(null, place);
  close(null);
  return true;
}

/// One round of killing; whether nothing was found.
static bool kill_round(const char *group, const char *const *legacy, const char *entry) {
  bool none = true;
  if (group != NULL) {
    int outcome = op_group_kill(group);
    none = outcome == 0 || outcome == ENOENT;
  }
  for (; legacy != NULL && *legacy != NULL; legacy++) {
    if (op_legacy_kill(*legacy) > 0) none = false;
  }
  return op_kill_marked(entry) == 0 && none;
}

static bool remove_folder(const char *path) {
  int outcome = path == NULL ? 0 : op_group_remove(path);
  return outcome == 0 || outcome == ENOENT;
}

static bool remove_folders(const struct op_guard_request *request) {
  bool gone = remove_folder(request->group);
  for (const char *const *path = request->legacy; path != NULL && *path != NULL; path++) {
    gone = remove_folder(*path) && gone;
  }
  return gone;
}

static void rest(void) {
  struct timespec pause = {.tv_nsec = ROUND_MILLISECONDS * 1000000L};
  nanosleep(&pause, NULL);
}

static void kill_leftovers(const struct op_guard_request *request) {
  int quiet = 0;
  for (int round = 0; round < MOST_ROUNDS && quiet < QUIET_ROUNDS; round++) {
    bool none = kill_round(request->group, request->legacy, request->entry);
    bool gone = remove_folders(request);
    quiet = gone && none ? quiet + 1 : 0;
    rest();
  }
}

/// One round against exclusive operations, unless the lease holds again; whether it had to be.
static bool enforce_lease(const struct op_guard_request *request, bool *expired, int *quiet) {
  struct op_lease *lease = request->lease;
  atomic_store(&lease->killing, true);
  bool over = !op_lease_holds(lease);
  if (over) {
    if (!*expired) *quiet = 0;
    *expired = true;
    // Before the kill: who sees a process die must be able to see why. At each round: the lease may
    // have come back and run out again while this process did not look.
    atomic_fetch_add(&lease->expiries, 1);
    bool none =
        kill_round(request->exclusive_group, request->exclusive_legacy, request->exclusive_entry);
    *quiet = none ? *quiet + 1 : 0;
  }
  atomic_store(&lease->killing, false);
  return over;
}

/// Kills exclusive operations while the lease is out. Returns how long to sleep before the next
/// look; -1: the timer wakes it.
static int watch_lease(const struct op_guard_request *request, bool *expired, int *quiet) {
  struct op_lease *lease = request->lease;
  if (lease == NULL || atomic_load(&lease->count) <= 0) {
    *expired = false;
    return -1;
  }
  if (!op_lease_holds(lease) && enforce_lease(request, expired, quiet)) {
    return *quiet < QUIET_ROUNDS ? ROUND_MILLISECONDS : EXPIRED_MILLISECONDS;
  }
  *expired = false;
  int64_t until = atomic_load(&lease->until);
  struct itimerspec setting = {
      .it_value = {.tv_sec = until / 1000000000, .tv_nsec = until % 1000000000}};
  timerfd_settime(TIMER, TFD_TIMER_ABSTIME, &setting, NULL);
  return -1;
}

static void drain(int descriptor) {
  uint64_t number;
  ssize_t bytes = read(descriptor, &number, sizeof(number));
  (void)bytes;
}

static _Noreturn void guard(const struct op_guard_request *request) {
  setsid();
  op_rename_self("opcluster-guard");
  int wake = request->lease == NULL ? -1 : request->lease->wake;
  if (chdir("/") != 0 || !keep_only(request->worker, wake)) _exit(1);
  struct pollfd watched[3] = {{.fd = WORKER, .events = POLLIN},
                              {.fd = WAKE, .events = POLLIN},
                              {.fd = TIMER, .events = POLLIN}};
  // The guard before this one may have died in the middle of a round.
  if (request->lease != NULL) atomic_store(&request->lease->killing, false);
  bool expired = false;
  int quiet = 0;
  for (;;) {
    int timeout = watch_lease(request, &expired, &quiet);
    if (poll(watched, 3, timeout) < 0) continue;
    if ((watched[0].revents & (POLLIN | POLLHUP)) != 0) break;
    if ((watched[1].revents & POLLIN) != 0) drain(WAKE);
    if ((watched[2].revents & POLLIN) != 0) drain(TIMER);
  }
  kill_leftovers(request);
  _exit(0);
}

int op_guard_start(const struct op_guard_request *request, struct op_spawn_result *result) {
  *result = (struct op_spawn_result){.process = -1, .descriptor = -1};
  if (request->entry == NULL || *request->entry == 0) return EINVAL;
  if (request->exclusive_entry == NULL || *request->exclusive_entry == 0) return EINVAL;
  sigset_t all, before;
  sigfillset(&all);
  // The guard inherits the blocked mask and keeps it: only SIGKILL ends it early.
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_t process = fork();
  int error = errno;
  if (process == 0) guard(request);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (process < 0) return error;
  result->process = process;
  result->descriptor = op_process_descriptor(process);
  return result->descriptor < 0 ? -result->descriptor : 0;
}
