// Starts one child as vfork would, on a stack of its own, straight into its cgroup.
//
// The child shares the parent's memory until it executes: it must not allocate, must not return,
// and may write nothing but its own stack and the result. All signals are blocked around it, so
// that no handler of the parent ever runs in it.
#define _GNU_SOURCE
#include "lease.h"
#include "op_process.h"
#include "start.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILD_STACK_BYTES = 32 * 1024 };

struct child_context {
  const struct op_spawn_request *request;
  struct op_spawn_result *result;
  pid_t parent;
  /// It was not born in its cgroup v2 folder.
  bool enters_unified;
};

/// clone3(2) for a child with a stack of its own, which the wrapper `syscall` cannot do:
/// it would return into the parent's frame.
static long clone_with_stack(struct clone_args *arguments, int (*function)(void *),
                             void *context) {
#if defined(__x86_64__)
  long outcome = SYS_clone3;
  register int (*entry)(void *) __asm__("r8") = function;
  register void *argument __asm__("r9") = context;
  __asm__ volatile(
      "syscall\n\t"
      "testq %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "xorl %%ebp, %%ebp\n\t"
      "movq %%r9, %%rdi\n\t"
      "callq *%%r8\n\t"
      "movl %%eax, %%edi\n\t"
      "movl %[leave], %%eax\n\t"
      "syscall\n\t"
      "hlt\n\t"
      "1:\n\t"
      : "+a"(outcome)
      : "D"(arguments), "S"(sizeof(*arguments)), "r"(entry), "r"(argument), [leave] "i"(SYS_exit)
      : "rcx", "r11", "memory", "cc");
  return outcome;
#elif defined(__aarch64__)
  register long number __asm__("x8") = SYS_clone3;
  register long first __asm__("x0") = (long)arguments;
  register long second __asm__("x1") = (long)sizeof(*arguments);
  register int (*entry)(void *) __asm__("x2") = function;
  register void *argument __asm__("x3") = context;
  __asm__ volatile(
      "svc #0\n\t"
      "cbnz x0, 1f\n\t"
      "mov x29, xzr\n\t"
      "mov x30, xzr\n\t"
      "mov x0, x3\n\t"
      "blr x2\n\t"
      "mov x8, %[leave]\n\t"
      "svc #0\n\t"
      "brk #1\n\t"
      "1:\n\t"
      : "+r"(first)
      : "r"(number), "r"(second), "r"(entry), "r"(argument), [leave] "i"(SYS_exit)
      : "memory", "cc");
  return first;
#else
  (void)arguments, (void)function, (void)context;
  return -ENOSYS;
#endif
}

/// Writes down what went wrong and why; the parent reads it when it is woken.
static int fail(struct child_context *context, enum op_step step) {
  context->result->step = step;
  context->result->error = errno;
  return 127;
}

/// Signals that programs are wont to ignore at some time.
static const int often_ignored[] = {SIGPIPE, SIGHUP,  SIGINT,  SIGQUIT, SIGTERM,
                                    SIGCHLD, SIGTSTP, SIGTTIN, SIGTTOU};

/// Those, and the ones that this process ignored when it started its first child.
static bool ignorable[NSIG];

/// sigaction(2) as the kernel has it, in words: the handler comes first. The wrapper refuses the
/// two signals that the C library keeps to itself, which posix_spawn lets children ignore.
struct kernel_action {
  unsigned long handler, rest[3];
};

static long kernel_sigaction(int number, const struct kernel_action *wanted,
                             struct kernel_action *present) {
  return syscall(SYS_rt_sigaction, number, wanted, present, (size_t)8);
}

static void find_ignorable(void) {
  for (size_t index = 0; index < sizeof(often_ignored) / sizeof(int); index++) {
    ignorable[often_ignored[index]] = true;
  }
  for (int number = 1; number < NSIG; number++) {
    struct kernel_action present = {0};
    if (kernel_sigaction(number, NULL, &present) != 0) continue;
    if (present.handler == (unsigned long)SIG_IGN) ignorable[number] = true;
  }
}

/// Ignored signals survive execve, blocked ones too: a child of a server that ignores SIGPIPE
/// would otherwise never end in `yes | head`. Handled ones are reset by execve itself, and
/// resetting all 64 would cost a fiftieth of a short program.
static void reset_signals(void) {
  struct kernel_action standard = {.handler = (unsigned long)SIG_DFL};
  for (int number = 1; number < NSIG; number++) {
    if (ignorable[number]) kernel_sigaction(number, &standard, NULL);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

/// Puts the three streams at 0 to 2 and closes all others. The sources are lifted above 2 first,
/// since one stream's source may be another one's place.
static bool arrange_descriptors(const struct op_spawn_request *request) {
  int sources[3] = {request->input, request->output, request->error};
  for (int place = 0; place < 3; place++) {
    if (sources[place] > 2) continue;
    sources[place] = fcntl(sources[place], F_DUPFD, 3);
    if (sources[place] < 0) return false;
  }
  for (int place = 0; place < 3; place++) {
    if (dup2(sources[place], place) < 0) return false;
  }
  return close_range(3, ~0U, 0) == 0;
}

static bool apply_limits(const struct op_spawn_request *request) {
  for (size_t index = 0; index < request->limit_count; index++) {
    struct rlimit limit = {.rlim_cur = request->limits[index].value,
                           .rlim_max = request->limits[index].maximum};
    if (setrlimit(request->limits[index].resource, &limit) != 0) return false;
  }
  return true;
}

/// Where sessions share the processor equally (autogroup), niceness counts between sessions only if
/// it is that of the session. Where they do not, the file is missing, or does nothing.
static void nice_session(int nice) {
  char text[8];
  int length = 0, rest = nice < 0 ? -nice : nice;
  if (nice < 0) text[length++] = '-';
  if (rest >= 10) text[length++] = (char)('0' + rest / 10 % 10);
  text[length++] = (char)('0' + rest % 10);
  int file = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  ssize_t written = write(file, text, (size_t)length);
  (void)written;
  close(file);
}

/// Enters cgroup v1 folders by their `tasks` files: unlike `cgroup.procs` these take no lock of the
/// whole system, which would cost milliseconds.
static bool enter_groups(const struct op_spawn_request *request) {
  for (size_t index = 0; index < request->membership_count; index++) {
    if (write(request->memberships[index], "0", 1) != 1) return false;
  }
  return true;
}

/// Enters the cgroup v2 folder, where it could not be born there.
static bool enter_unified(int group) {
  int processes = openat(group, "cgroup.procs", O_WRONLY | O_CLOEXEC);
  if (processes < 0) return false;
  bool entered = write(processes, "0", 1) == 1;
  int error = errno;
  close(processes);
  errno = error;
  return entered;
}

static int run_child(void *raw) {
  struct child_context *context = raw;
  const struct op_spawn_request *request = context->request;
  if (setsid() < 0) return fail(context, OP_STEP_SESSION);
  if (context->enters_unified && !enter_unified(request->group)) {
    // A folder that is gone is made anew; one that lets nobody in is done without, as by clone3.
    bool is_gone = errno == ENOENT || errno == ENODEV;
    return fail(context, is_gone ? OP_STEP_GROUP : OP_STEP_CLONE);
  }
  if (!enter_groups(request)) return fail(context, OP_STEP_GROUP);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return fail(context, OP_STEP_PRIVILEGES);
  if (request->policy != OP_POLICY_UNCHANGED) {
    struct sched_param parameter = {.sched_priority = 0};
    int policy = request->policy == OP_POLICY_IDLE ? SCHED_IDLE : SCHED_BATCH;
    if (sched_setscheduler(0, policy, &parameter) != 0)
      return fail(context, OP_STEP_SCHEDULING);
  }
  if (request->nice != 0 && setpriority(PRIO_PROCESS, 0, request->nice) != 0)
    return fail(context, OP_STEP_NICE);
  if (request->nice != 0) nice_session(request->nice);
  reset_signals();
  if (!arrange_descriptors(request)) return fail(context, OP_STEP_DESCRIPTORS);
  if (!apply_limits(request)) return fail(context, OP_STEP_LIMIT);
  // What follows is done with the rights of whom it is done for.
  if (request->account != NULL && !op_account_become(request->account))
    return fail(context, OP_STEP_ACCOUNT);
  if (request->death_signal != 0) {
    // Not before: the kernel forgets it when the account changes.
    if (prctl(PR_SET_PDEATHSIG, request->death_signal) != 0)
      return fail(context, OP_STEP_DEATH_SIGNAL);
    // The parent may have died before the request was in force.
    if (getppid() != context->parent) _exit(127);
  }
  if (request->directory != NULL && chdir(request->directory) != 0)
    return fail(context, OP_STEP_DIRECTORY);
  // The last thing of all: whatever held up the parent before, the guard sees what lives now.
  if (request->lease != NULL && !op_lease_holds(request->lease)) {
    errno = ESTALE;
    return fail(context, OP_STEP_LEASE);
  }
  execve(request->executable, request->arguments, request->environment);
  return fail(context, OP_STEP_EXECUTE);
}

int op_spawn(const struct op_spawn_request *request, struct op_spawn_result *result) {
  if (request->reaped) return op_spawn_reaped(request, result);
  return op_spawn_child(request, result, NULL);
}

int op_spawn_child(const struct op_spawn_request *request, struct op_spawn_result *result,
                   struct op_start *start) {
  char stack[CHILD_STACK_BYTES] __attribute__((aligned(16)));
  struct child_context context = {request, result, getpid(), false};
  *result = (struct op_spawn_result){.process = -1, .leader = -1, .descriptor = -1};
  int descriptor = -1;
  struct clone_args arguments = {
      .flags = CLONE_VM | CLONE_VFORK,
      .exit_signal = SIGCHLD,
      .stack = (uint64_t)(uintptr_t)stack,
      .stack_size = sizeof(stack),
  };
  // The older call has one place for the two of them.
  pid_t *number = start == NULL ? &descriptor : &start->leader;
  if (start == NULL) {
    arguments.flags |= CLONE_PIDFD;
    arguments.pidfd = (uint64_t)(uintptr_t)number;
  } else {
    arguments.flags |= CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
    arguments.parent_tid = (uint64_t)(uintptr_t)number;
    arguments.child_tid = (uint64_t)(uintptr_t)&start->pending;
  }
  if (request->group >= 0) {
    arguments.flags |= CLONE_INTO_CGROUP;
    arguments.cgroup = (uint64_t)request->group;
  }
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, find_ignorable);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  long outcome = clone_with_stack(&arguments, run_child, &context);
  if (outcome == -ENOSYS || outcome == -EPERM) {
    // Filters that look at flags hide clone3, which keeps them in memory: systemd's
    // RestrictNamespaces does, and those of some containers, older ones by EPERM. The older call
    // does the rest.
    context.enters_unified = request->group >= 0;
    int flags = (int)(arguments.flags & ~CLONE_INTO_CGROUP) | SIGCHLD;
    void *cleared = start == NULL ? NULL : &start->pending;
    outcome = clone(run_child, stack + sizeof(stack), flags, &context, number, NULL, cleared);
    if (outcome < 0) outcome = -errno;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (outcome < 0) {
    result->step = OP_STEP_CLONE;
    result->error = (int)-outcome;
    return result->error;
  }
  if (result->step != OP_STEP_NONE) {
    while (waitpid((pid_t)outcome, NULL, 0) < 0 && errno == EINTR) continue;
    if (descriptor >= 0) close(descriptor);
    return result->error;
  }
  result->process = (pid_t)outcome;
  result->leader = result->process;
  result->descriptor = descriptor;
  return 0;
}

int op_process_descriptor(pid_t process) {
  long outcome = syscall(SYS_pidfd_open, process, 0);
  return outcome < 0 ? -errno : (int)outcome;
}

int op_process_signal(int descriptor, int signal) {
  return syscall(SYS_pidfd_send_signal, descriptor, signal, NULL, 0) < 0 ? errno : 0;
}

int op_hide_memory(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 ? 0 : errno; }

int op_become_subreaper(void) {
  return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0 ? 0 : errno;
}
