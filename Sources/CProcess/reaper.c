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
#include "start.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
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
  /// What takes longer to start may have been stopped by others: it is woken as often.
  START_MILLISECONDS = 20,
  /// How often a start is waited for so long: half a minute, as folders may be far away.
  START_ROUNDS = 1500,
};

struct reaper {
  /// Its descriptors: a pidfd of the worker, a signalfd, and the one to hold, or -1.
  int worker, signals, hold;
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

/// Lets go of every descriptor but these; -1 is none. The system calls cannot fail.
static void keep_only(const int *kept, int count) {
  for (int from = 0;;) {
    int next = INT_MAX;
    for (int at = 0; at < count; at++) {
      if (kept[at] >= from && kept[at] < next) next = kept[at];
    }
    if (next == INT_MAX) {
      close_range((unsigned)from, ~0U, 0);
      return;
    }
    if (next > from) close_range((unsigned)from, (unsigned)next - 1, 0);
    from = next + 1;
  }
}

/// The descriptor that tells of deaths and of the order to kill: 0 or errno.
static int watch_signals(struct reaper *reaper) {
  sigset_t wanted;
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGCHLD);
  sigaddset(&wanted, OP_REAPER_KILL);
  reaper->signals = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
  return reaper->signals < 0 ? errno : 0;
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
    ssize_t bytes = read(reaper->signals, signals, sizeof(signals));
    if (bytes <= 0) return;
    for (size_t at = 0; at < (size_t)bytes / sizeof(signals[0]); at++) {
      if (signals[at].ssi_signo == OP_REAPER_KILL) reaper->condemned = true;
    }
  }
}

static void rest(struct reaper *reaper, bool kills) {
  struct pollfd watched[2] = {
      {.fd = reaper->signals, .events = POLLIN},
      {.fd = reaper->worker_ended ? -1 : reaper->worker, .events = POLLIN}};
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

/// Starts the child; false: there is none, and the worker has been told. All that can fail is done
/// before the operation begins, which may stop this process at once.
static bool start_child(struct reaper *reaper, const struct op_spawn_request *request,
                        struct op_start *start) {
  struct op_spawn_request own = *request;
  own.death_signal = SIGKILL;
  int error = op_become_subreaper();
  // A worker that is killed wakes it, if it is stopped then.
  if (error == 0 && prctl(PR_SET_PDEATHSIG, SIGCONT) != 0) error = errno;
  if (error == 0) error = watch_signals(reaper);
  if (error == 0) {
    // Before the operation, too: while it is stopped, it holds nothing of the worker's.
    const int kept[] = {reaper->worker, reaper->signals, reaper->hold,
                        request->input, request->output, request->error};
    keep_only(kept, 6);
    op_spawn_child(&own, &start->result, start);
    keep_only(kept, 3);
  } else {
    start->result.step = OP_STEP_CLONE;
    start->result.error = error;
  }
  reaper->leader = start->leader;
  if (start->result.step == OP_STEP_NONE) return true;
  // The kernel has told it of the end of a child only.
  atomic_store(&start->pending, 0);
  syscall(SYS_futex, &start->pending, FUTEX_WAKE, 1, NULL, NULL, 0);
  return false;
}

static _Noreturn void run(const struct op_spawn_request *request, int worker,
                          struct op_start *start) {
  setsid();
  signal(SIGCHLD, SIG_DFL);
  struct reaper reaper = {
      .worker = worker, .hold = request->hold, .lease = (struct op_lease *)request->lease};
  if (reaper.lease != NULL) reaper.expiries = atomic_load(&reaper.lease->expiries);
  if (!start_child(&reaper, request, start)) _exit(0);
  // Not before: the words of the request may lie where the command line does.
  op_rename_self("opcluster-reaper");
  // Without the right to enter it, the reaper does no worse than to hold a folder in use.
  int moved = chdir("/");
  (void)moved;
  reap(&reaper);
}

/// Whether the process has ended, which is left to be waited for.
static bool has_ended(pid_t process) {
  siginfo_t info = {0};
  if (waitid(P_PID, (id_t)process, &info, WEXITED | WNOHANG | WNOWAIT) != 0) return true;
  return info.si_pid == process;
}

/// Wakes the child if it was stopped before it executed.
static void wake_leader(struct op_start *start) {
  if (start->leader <= 0) return;
  int descriptor = op_process_descriptor(start->leader);
  if (descriptor < 0) return;
  // Asked again: what has not executed by now is what was pinned.
  if (atomic_load(&start->pending) != 0) op_process_signal(descriptor, SIGCONT);
  close(descriptor);
}

/// Waits until the child has executed or failed. False: it has not in a long time, or the reaper
/// has ended before.
static bool await_start(struct op_start *start, pid_t reaper) {
  for (int round = 0; round < START_ROUNDS;) {
    uint32_t pending = atomic_load(&start->pending);
    if (pending == 0) return true;
    struct timespec pause = {.tv_nsec = START_MILLISECONDS * 1000000L};
    long woken = syscall(SYS_futex, &start->pending, FUTEX_WAIT, pending, &pause, NULL, 0);
    if (woken == 0 || errno != ETIMEDOUT) continue;
    // The kernel tells nothing of a child that has nobody to share its memory with.
    if (has_ended(reaper)) return atomic_load(&start->pending) == 0;
    kill(reaper, SIGCONT);
    wake_leader(start);
    round++;
  }
  return false;
}

/// Waits for a reaper without a child, which ends by itself unless it is stopped again and again.
static void await_end(pid_t reaper, bool is_orderly) {
  int descriptor = is_orderly ? op_process_descriptor(reaper) : -1;
  struct pollfd watched = {.fd = descriptor, .events = POLLIN};
  for (int round = 0; descriptor >= 0 && round < START_ROUNDS; round++) {
    int ready = poll(&watched, 1, START_MILLISECONDS);
    if (ready > 0) break;
    if (ready == 0) kill(reaper, SIGCONT);
  }
  if (descriptor >= 0) close(descriptor);
  if (!has_ended(reaper)) kill(reaper, SIGKILL);
  while (waitpid(reaper, NULL, 0) < 0 && errno == EINTR) continue;
}

static int refuse(struct op_spawn_result *result, enum op_step step, int error) {
  result->step = step;
  result->error = error;
  return error;
}

/// Forks the reaper: its number or -errno.
static pid_t fork_reaper(const struct op_spawn_request *request, struct op_start *start) {
  int worker = op_process_descriptor(getpid());
  if (worker < 0) return worker;
  sigset_t all, before;
  sigfillset(&all);
  // The reaper inherits the blocked mask and keeps it: only SIGKILL ends it early.
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_t process = fork();
  int error = errno;
  if (process == 0) run(request, worker, start);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  close(worker);
  return process < 0 ? -error : process;
}

int op_spawn_reaped(const struct op_spawn_request *request, struct op_spawn_result *result) {
  *result = (struct op_spawn_result){.process = -1, .leader = -1, .descriptor = -1};
  // A page for each: a reaper that was held up writes into its own only.
  struct op_start *start = mmap(NULL, sizeof(struct op_start), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) return refuse(result, OP_STEP_CLONE, errno);
  atomic_store(&start->pending, 1);
  pid_t process = fork_reaper(request, start);
  bool told = process > 0 && await_start(start, process);
  enum op_step step = told ? start->result.step : OP_STEP_CLONE;
  int error = told ? start->result.error : EAGAIN;
  pid_t leader = start->leader;
  munmap(start, sizeof(struct op_start));
  if (process < 0) return refuse(result, OP_STEP_CLONE, -process);
  int descriptor = -1;
  if (step == OP_STEP_NONE) {
    descriptor = op_process_descriptor(process);
    if (descriptor < 0) {
      // What could not be watched is ended.
      told = false;
      step = OP_STEP_CLONE;
      error = -descriptor;
    }
  }
  if (step != OP_STEP_NONE) {
    await_end(process, told);
    return refuse(result, step, error);
  }
  result->process = process;
  result->leader = leader;
  result->descriptor = descriptor;
  return 0;
}
