// What the Swift side of OpClusterProcesses needs from C: starting a child from shared memory,
// reading the process table without allocating, and a guard process that outlives its worker.
//
// Everything here reports failures as errno values, never by ending the caller.
#ifndef OP_PROCESS_H
#define OP_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// The step at which a start failed; the child writes it into memory shared with its parent.
enum op_step {
  OP_STEP_NONE = 0,
  OP_STEP_CLONE = 1,
  OP_STEP_SESSION = 2,
  OP_STEP_DEATH_SIGNAL = 3,
  OP_STEP_PRIVILEGES = 4,
  OP_STEP_SCHEDULING = 5,
  OP_STEP_NICE = 6,
  OP_STEP_LIMIT = 7,
  OP_STEP_DESCRIPTORS = 8,
  OP_STEP_DIRECTORY = 9,
  OP_STEP_EXECUTE = 10,
};

/// How the kernel shares the processor between the child and others.
enum op_policy { OP_POLICY_UNCHANGED = 0, OP_POLICY_BATCH = 1, OP_POLICY_IDLE = 2 };

/// One resource limit, set as soft and hard limit alike.
struct op_limit {
  int resource;
  uint64_t value;
};

/// What to start. Pointers stay the caller's and are read only during the call.
struct op_spawn_request {
  /// The file to execute; a relative path is taken from `directory`. `PATH` is not consulted.
  const char *executable;
  /// Null-terminated.
  char *const *arguments;
  /// Null-terminated.
  char *const *environment;
  /// The working directory, or null to keep the caller's.
  const char *directory;
  int input;
  int output;
  int error;
  /// Descriptor of a cgroup v2 folder to be born in, or -1.
  int group;
  /// Sent to the child when the calling thread ends, or 0.
  int death_signal;
  int nice;
  enum op_policy policy;
  const struct op_limit *limits;
  size_t limit_count;
};

struct op_spawn_result {
  pid_t process;
  /// A pidfd, close-on-exec.
  int descriptor;
  enum op_step step;
  int error;
};

/// Starts a child in its own session, with descriptors 0 to 2 only, default signals and no way to
/// gain privileges. The calling thread is suspended until the child has executed or failed.
/// Returns 0, or the errno that `result` holds together with the step.
int op_spawn(const struct op_spawn_request *request, struct op_spawn_result *result);

/// pidfd_open(2): a descriptor or -errno.
int op_process_descriptor(pid_t process);

/// pidfd_send_signal(2): 0 or errno.
int op_process_signal(int descriptor, int signal);

/// openat2(2) beneath `root`, following no symbolic link: a descriptor or -errno.
int op_open_beneath(int root, const char *path, int flags, mode_t mode);

/// Makes the caller the parent of all its orphaned descendants: 0 or errno.
int op_become_subreaper(void);

/// Whether an environment entry of the process equals `entry` up to its length.
/// `exactly` demands that the entry ends there as well.
bool op_environment_has(pid_t process, const char *entry, bool exactly);

/// Sends SIGKILL to every process with an environment entry that begins with `entry`,
/// save the caller. Returns how many were found.
size_t op_kill_marked(const char *entry);

/// A child of this process that has ended and was not waited for yet, left as it is; 0 for none.
pid_t op_next_ended_child(void);

/// Whether any living process is in the cgroup whose opened cgroup.events is given, or beneath.
/// True when in doubt.
bool op_group_is_populated(int events);

/// Kills everything in the cgroup v2 folder `path` and beneath: 0 or errno.
int op_group_kill(const char *path);

/// Removes the empty cgroup v2 folder `path` and those beneath: 0 or errno (EBUSY: not empty yet).
int op_group_remove(const char *path);

/// Forks the guard: when the process behind the pidfd `worker` has ended, it kills what is in the
/// cgroup v2 folder `group` (may be null) or carries an environment entry that begins with
/// `entry`, again and again until nothing is left, removes the folder, and exits.
/// The guard runs in its own session, holds no descriptor but its own and allocates nothing,
/// so that it may be started while other threads run. Returns 0 or errno.
int op_guard_start(int worker, const char *group, const char *entry,
                   struct op_spawn_result *result);

/// epoll_create1(2): a descriptor or -errno.
int op_poller_make(void);

/// Reports `descriptor` by its token while it is readable: 0 or errno.
int op_poller_watch(int poller, int descriptor, uint64_t token);

/// Fills in the tokens of readable descriptors without waiting, 256 at most, and returns how many.
size_t op_poller_ready(int poller, uint64_t *tokens, size_t limit);

/// A non-blocking timer of the monotonic clock, not running: a descriptor or -errno.
int op_timer_make(void);

/// Makes the timer tick every so many milliseconds; 0 stops it.
void op_timer_set(int timer, uint32_t milliseconds);

/// An unnamed file in memory, close-on-exec: a descriptor or -errno.
int op_memory_file(const char *name);

/// The kernel's number of the calling thread.
pid_t op_thread_number(void);

#endif
