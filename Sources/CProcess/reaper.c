// The reaper: a forked copy of the worker that stands between it and one operation, where no cgroup
// keeps the operation's processes together. The kernel gives it every orphan of its operation,
// whatever session, group or environment that has taken, so that its children are all there is of
// the operation once what they descend from has been killed; and their numbers pass to nobody else
// before it has waited for them. It outlives a killed worker by as long as the killing takes. It
// runs C only, with system calls and stack memory, as the guard does.
#define _GNU_SOURCE
#include "lease.h"
#include "op_process.h"
#include "process_table.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
  /// Between two rounds of killing; deaths wake it sooner.
  KILLING_MILLISECONDS = 10,
  /// What is killed for so long has children faster than it dies: it is frozen first.
  STORM_MILLISECONDS = 30,
  /// Between two looks at the lease, which the worker may shorten.
  LEASE_MILLISECONDS = 100,
  /// What survives the killing for so long hangs in the kernel: it is left to the worker, which
  /// says so, or, where there is none any more, to nobody.
  PATIENCE_MILLISECONDS = 8000,
  LONE_PATIENCE_MILLISECONDS = 120000,
};

/// Where the reaper keeps its descriptors once it has let go of all others.
enum { WORKER = 3, SIGNALS = 4, REPORT = 5, HOLD = 6, FIRST_FREE = 7 };

/// What it tells the worker of the start.
struct report {
  pid_t leader;
  enum op_step step;
  int error;
};

struct reaper {
  pid_t leader;
  /// As wait4(2) gave it.
  int status;
  bool leader_ended;
  bool condemned;
  bool worker_ended;
  /// When the killing began, in nanoseconds; 0: it has not.
  int64_t killing_since;
  struct op_lease *lease;
  uint64_t expiries;
};

/// Lets go of everything the worker had open but these.
static bool keep_only(int worker, int report, int hold) {
  sigset_t wanted;
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGCHLD);
  sigaddset(&wanted, OP_REAPER_KILL);
  int signals = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals < 0) return false;
  int kept[4] = {worker, signals, report, hold >= 0 ? hold : signals};
  for (int at = 0; at < 4; at++) {
    kept[at] = fcntl(kept[at], F_DUPFD, FIRST_FREE);
    if (kept[at] < 0) return false;
  }
  for (int at = 0; at < 4; at++) {
    if (dup2(kept[at], WORKER + at) < 0) return false;
  }
  if (hold < 0) close(HOLD);
  if (close_range(FIRST_FREE, ~0U, 0) != 0) return false;
  int null = open("/dev/null", O_RDWR);
  if (null < 0) return false;
  for (int place = 0; place < 3; place++) dup2(null, place);
  close(null);
  return true;
}

/// Waits for all that have ended. False: there are no children any more, and so nothing at all.
static bool collect(struct reaper *reaper) {
  for (;;) {
    int status = 0;
    pid_t process = wait4(-1, &status, __WALL | WNOHANG, NULL);
    if (process == 0) return true;
    if (process < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    if (process != reaper->leader) continue;
    reaper->status = status;
    reaper->leader_ended = true;
  }
}

/// Its number is its own until it has been waited for.
static void kill_child(pid_t process) { kill(process, SIGKILL); }

/// Since the killing began.
static int64_t killing_milliseconds(const struct reaper *reaper) {
  return (op_boot_time() - reaper->killing_since) / 1000000;
}

/// One round: each orphan of what dies now is a child at the next one.
static void kill_round(struct reaper *reaper) {
  if (reaper->killing_since == 0) reaper->killing_since = op_boot_time();
  if (killing_milliseconds(reaper) >= STORM_MILLISECONDS) op_freeze_descendants();
  op_for_each_child(kill_child);
}

/// Whether the reaper has waited long enough for what it has killed.
static bool is_out_of_patience(const struct reaper *reaper) {
  int64_t passed = killing_milliseconds(reaper);
  if (reaper->worker_ended) return passed > LONE_PATIENCE_MILLISECONDS;
  // Of what is exclusive the worker hears nothing before all is gone.
  return reaper->leader_ended && reaper->lease == NULL && passed > PATIENCE_MILLISECONDS;
}

static void watch_lease(struct reaper *reaper) {
  struct op_lease *lease = reaper->lease;
  if (lease == NULL || reaper->condemned || op_lease_holds(lease)) return;
  // Before the first kill: who sees a process die must be able to see why. The guard may have been
  // there before.
  atomic_compare_exchange_strong(&lease->expiries, &reaper->expiries, reaper->expiries + 1);
  reaper->condemned = true;
}

static void take_signals(struct reaper *reaper) {
  struct signalfd_siginfo signals[16];
  for (;;) {
    ssize_t bytes = read(SIGNALS, signals, sizeof(signals));
    if (bytes <= 0) return;
    for (size_t at = 0; at < (size_t)bytes / sizeof(signals[0]); at++) {
      if (signals[at].ssi_signo == OP_REAPER_KILL) reaper->condemned = true;
    }
  }
}

static void rest(struct reaper *reaper, bool kills) {
  struct pollfd watched[2] = {{.fd = SIGNALS, .events = POLLIN},
                              {.fd = reaper->worker_ended ? -1 : WORKER, .events = POLLIN}};
  int timeout = kills ? KILLING_MILLISECONDS : reaper->lease != NULL ? LEASE_MILLISECONDS : -1;
  if (poll(watched, 2, timeout) <= 0) return;
  if (watched[0].revents != 0) take_signals(reaper);
  if (watched[1].revents != 0) {
    reaper->worker_ended = true;
    reaper->condemned = true;
  }
}

/// Ends as the operation's main process did.
static _Noreturn void leave(const struct reaper *reaper) {
  int status = reaper->status;
  if (!reaper->leader_ended) _exit(1);
  if (!WIFSIGNALED(status)) _exit(WEXITSTATUS(status));
  struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  int number = WTERMSIG(status);
  signal(number, SIG_DFL);
  sigset_t mask;
  sigfillset(&mask);
  sigdelset(&mask, number);
  sigprocmask(SIG_SETMASK, &mask, NULL);
  kill(getpid(), number);
  // A number that the C library keeps to itself.
  _exit(128 + number);
}

static _Noreturn void reap(struct reaper *reaper) {
  for (;;) {
    watch_lease(reaper);
    if (!collect(reaper)) leave(reaper);
    bool kills = reaper->condemned || reaper->leader_ended;
    if (kills) {
      kill_round(reaper);
      if (is_out_of_patience(reaper)) leave(reaper);
    }
    rest(reaper, kills);
  }
}

static _Noreturn void run(const struct op_spawn_request *request, int worker, int end) {
  setsid();
  signal(SIGCHLD, SIG_DFL);
  struct reaper reaper = {.lease = (struct op_lease *)request->lease};
  if (reaper.lease != NULL) reaper.expiries = atomic_load(&reaper.lease->expiries);
  struct report report = {0};
  int error = op_become_subreaper();
  if (error != 0) {
    report.step = OP_STEP_CLONE;
    report.error = error;
  } else {
    struct op_spawn_request own = *request;
    struct op_spawn_result result;
    own.reaped = false;
    own.death_signal = SIGKILL;
    op_spawn(&own, &result);
    report = (struct report){result.process, result.step, result.error};
    reaper.leader = result.process;
  }
  if (report.step != OP_STEP_NONE) {
    ssize_t written = write(end, &report, sizeof(report));
    _exit(written == sizeof(report) ? 0 : 1);
  }
  // Not before: the words of the request may lie where the command line does.
  op_rename_self("opcluster-reaper");
  // Without its descriptors it is as good as killed: the kernel ends the main process with it, and
  // the worker the rest.
  if (chdir("/") != 0 || !keep_only(worker, end, request->hold)) _exit(1);
  if (write(REPORT, &report, sizeof(report)) != sizeof(report)) reaper.condemned = true;
  close(REPORT);
  reap(&reaper);
}

/// Reads the report, or says that the reaper has ended without one.
static bool take_report(int end, struct report *report) {
  size_t taken = 0;
  while (taken < sizeof(*report)) {
    ssize_t bytes = read(end, (char *)report + taken, sizeof(*report) - taken);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return false;
    taken += (size_t)bytes;
  }
  return true;
}

static int refuse(struct op_spawn_result *result, int error) {
  result->step = OP_STEP_CLONE;
  result->error = error;
  return error;
}

int op_spawn_reaped(const struct op_spawn_request *request, struct op_spawn_result *result) {
  *result = (struct op_spawn_result){.process = -1, .leader = -1, .descriptor = -1};
  int worker = op_process_descriptor(getpid());
  if (worker < 0) return refuse(result, -worker);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    int error = errno;
    close(worker);
    return refuse(result, error);
  }
  sigset_t all, before;
  sigfillset(&all);
  // The reaper inherits the blocked mask and keeps it: only SIGKILL ends it early.
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_t process = fork();
  int error = errno;
  if (process == 0) run(request, worker, ends[1]);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  close(worker);
  close(ends[1]);
  struct report report = {0};
  bool told = process > 0 && take_report(ends[0], &report);
  close(ends[0]);
  if (process < 0) return refuse(result, error);
  int descriptor = told && report.step == OP_STEP_NONE ? op_process_descriptor(process) : -EAGAIN;
  if (descriptor < 0) {
    // An untold reaper is ended first; so is one that could not be watched.
    if (!told || report.step == OP_STEP_NONE) kill(process, SIGKILL);
    while (waitpid(process, NULL, 0) < 0 && errno == EINTR) continue;
    if (!told || report.step == OP_STEP_NONE) return refuse(result, -descriptor);
    result->step = report.step;
    result->error = report.error;
    return report.error;
  }
  result->process = process;
  result->leader = report.leader;
  result->descriptor = descriptor;
  return 0;
}
