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
  OP_STEP_GROUP = 11,
  OP_STEP_LEASE = 12,
  OP_STEP_ACCOUNT = 13,
};

/// How the kernel shares the processor between the child and others.
enum op_policy { OP_POLICY_UNCHANGED = 0, OP_POLICY_BATCH = 1, OP_POLICY_IDLE = 2 };

/// One resource limit, set as soft and hard limit alike.
struct op_limit {
  int resource;
  uint64_t value;
  /// How far the process may raise it.
  uint64_t maximum;
};

/// Groups of one account at most: the kernel takes 65,536, and no list of accounts has so many.
enum { OP_GROUP_LIMIT = 1024 };

/// Another account of this machine than the caller's.
struct op_account {
  uid_t user;
  gid_t group;
  const gid_t *groups;
  size_t group_count;
};

/// What a thread has to return to.
struct op_groups {
  size_t count;
  gid_t list[OP_GROUP_LIMIT];
};

/// A page shared by the worker and its guard: until when exclusive operations may live.
struct op_lease;

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
  /// Descriptors of `tasks` files of cgroup v1 folders that the child enters before it executes.
  const int *memberships;
  size_t membership_count;
  /// As whom the child executes, root being the caller; null: as the caller.
  const struct op_account *account;
  /// Without this lease the child does not execute (ESTALE); null: it needs none.
  const struct op_lease *lease;
  /// Sent to the child when the calling thread ends, or 0.
  int death_signal;
  int nice;
  enum op_policy policy;
  const struct op_limit *limits;
  size_t limit_count;
  /// Whether a reaper of its own stands between the caller and the child; no such child is born in
  /// a cgroup.
  bool reaped;
  /// A descriptor that the reaper keeps open as long as anything of the child lives, or -1.
  int hold;
};

/// What a reaper takes as the order to kill.
enum { OP_REAPER_KILL = 10 };

struct op_spawn_result {
  /// The child of the caller: the executed program, or its reaper.
  pid_t process;
  /// The executed program.
  pid_t leader;
  /// A pidfd of `process`, close-on-exec.
  int descriptor;
  enum op_step step;
  int error;
};

/// Starts a child in its own session, with descriptors 0 to 2 only, default signals and no way to
/// gain privileges. The calling thread is suspended until the child has executed or failed.
/// Returns 0, or the errno that `result` holds together with the step.
int op_spawn(const struct op_spawn_request *request, struct op_spawn_result *result);

/// The same with a reaper between, whatever the request says: a copy of the caller that all orphans
/// of the child come to. It ends as the child did, once nothing that descends from the child lives;
/// the child's end, the caller's end, the lease's end and the signal OP_REAPER_KILL make it kill
/// what is left. `op_spawn` calls it.
int op_spawn_reaped(const struct op_spawn_request *request, struct op_spawn_result *result);

/// Gives the calling thread the rights of an account on files, and no others, until
/// `op_account_leave` takes them away again, given what this has filled in: 0 or errno. Root only.
int op_account_enter(const struct op_account *account, struct op_groups *own);

/// Does not return if the thread cannot get its own rights back.
void op_account_leave(const struct op_groups *own);

/// Makes the calling thread the account's for ever. In a child that is about to execute.
bool op_account_become(const struct op_account *account);

/// Whether a process can find its children here, which a reaper has to.
bool op_can_list_children(void);

/// pidfd_open(2): a descriptor or -errno.
int op_process_descriptor(pid_t process);

/// pidfd_send_signal(2): 0 or errno.
int op_process_signal(int descriptor, int signal);

/// A folder to open others beneath, which takes no right but to pass it: a descriptor or -errno.
int op_open_root(const char *path);

/// openat2(2) beneath `root`, following no symbolic link: a descriptor or -errno, EPERM for what is
/// on a file system of the kernel's own (proc, sys, cgroup).
int op_open_beneath(int root, const char *path, int flags, mode_t mode);

/// The same following the symbolic links that stay beneath `root`; EXDEV for those that do not.
int op_open_within(int root, const char *path, int flags, mode_t mode);

/// openat2(2) of any path but through the links of /proc; EPERM as above.
int op_open_named(const char *path, int flags, mode_t mode);

/// rename(2) of files beneath `root`, following no symbolic link: 0 or errno.
int op_move_beneath(int root, const char *from, const char *to);

/// Puts a symbolic link beneath `root` in the place of what is there: 0 or errno.
int op_link_beneath(int root, const char *path, const char *target);

/// Gives the file, folder or link in the last place of `path` to another owner, following no
/// symbolic link: 0 or errno.
int op_give_beneath(int root, const char *path, uid_t user, gid_t group);

/// Removes what is in the folder `path` beneath `root`, whatever modes and flags its owner gave it,
/// following no link and entering no other file system. At most `budget` entries are looked at: 0
/// when it is empty, EAGAIN when there is more, else the errno of what stays.
int op_empty_beneath(int root, const char *path, size_t budget);

/// The same together with the folder itself, or another file in its place. ENOENT is 0.
int op_remove_beneath(int root, const char *path, size_t budget);

/// The same by a path whose folders are believed.
int op_remove_tree(const char *path, size_t budget);

/// Makes the caller the parent of all its orphaned descendants: 0 or errno.
int op_become_subreaper(void);

/// Keeps this process's memory from core dumps and from other processes of its user: 0 or errno.
/// What it executes is not concerned.
int op_hide_memory(void);

/// Whether an environment entry of the process equals `entry` up to its length.
/// `exactly` demands that the entry ends there as well.
bool op_environment_has(pid_t process, const char *entry, bool exactly);

/// Sends SIGKILL to every process with an environment entry that begins with `entry`,
/// save the caller. Returns how many were found.
size_t op_kill_marked(const char *entry);

/// A child of this process that has ended and was not waited for yet, left as it is; 0 for none.
pid_t op_next_ended_child(void);

/// A child of this process, or this one if it is not 0, that is stopped and was not taken since; 0
/// for none.
pid_t op_take_stopped_child(pid_t process);

/// Whether any living process is in the cgroup whose opened cgroup.events is given, or beneath.
/// True when in doubt.
bool op_group_is_populated(int events);

/// Kills everything in the cgroup v2 folder `path` and beneath: 0 or errno.
int op_group_kill(const char *path);

/// Kills everything in the cgroup v1 folder `path` and beneath, frozen meanwhile where the hierarchy
/// can. What forks faster than it is found needs another call. Returns how many were found, or
/// -errno.
long op_legacy_kill(const char *path);

/// Whether any process is in the cgroup v1 folder whose opened cgroup.procs is given.
bool op_legacy_is_populated(int processes);

/// Removes the empty cgroup folder `path` and those beneath: 0 or errno (EBUSY: not empty yet).
int op_group_remove(const char *path);

/// A lease that holds for nobody yet, shared with whatever is forked; null: no memory or
/// descriptor. It lives as long as the process.
struct op_lease *op_lease_make(void);

/// Nanoseconds of CLOCK_BOOTTIME, which goes on while the machine sleeps.
int64_t op_boot_time(void);

/// Makes the lease hold until this moment of CLOCK_BOOTTIME; an earlier one shortens it.
void op_lease_set(struct op_lease *lease, int64_t until);

/// Whether it holds now.
bool op_lease_holds(const struct op_lease *lease);

/// Whether it holds, and what begins now is not met by a round of killing that began before: waits
/// at most so long for its end.
bool op_lease_settles(const struct op_lease *lease, int64_t nanoseconds);

/// Counts the trees that live by the lease up or down; the guard wakes up for the first.
void op_lease_count(struct op_lease *lease, int change);

/// How often the guard has found the lease run out while something lived by it.
uint64_t op_lease_expiries(const struct op_lease *lease);

/// What a guard is to see to. Strings stay the caller's and are read in the forked copy.
struct op_guard_request {
  /// A pidfd of the worker.
  int worker;
  /// The worker's folder in the cgroup v2 hierarchy, and the one of exclusive operations in it; may
  /// be null.
  const char *group;
  const char *exclusive_group;
  /// The worker's folders in cgroup v1 hierarchies and those of exclusive operations in them, ended
  /// by null.
  const char *const *legacy;
  const char *const *exclusive_legacy;
  /// How an environment entry of what the worker started begins, and of exclusive operations.
  const char *entry;
  const char *exclusive_entry;
  /// What exclusive operations live by; may be null.
  struct op_lease *lease;
};

/// Forks the guard. When the worker has ended, it kills what is in its folders or carries its mark,
/// again and again until nothing is left, removes the folders, and exits. When the lease runs out
/// while the worker lives, it kills exclusive operations, and goes on doing so until the lease
/// holds again.
/// The guard runs in its own session, holds no descriptor but its own and allocates nothing,
/// so that it may be started while other threads run. Returns 0 or errno.
int op_guard_start(const struct op_guard_request *request, struct op_spawn_result *result);

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
