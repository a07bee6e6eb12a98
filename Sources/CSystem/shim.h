// What loops need from the kernel and the C library that Swift's Glibc module leaves out.
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// The system's headers show these two only to _GNU_SOURCE, which the importer does not define.
extern int pthread_setname_np(pthread_t thread, const char *name);
extern int ppoll(struct pollfd *descriptors, nfds_t count, const struct timespec *timeout,
                 const sigset_t *mask);

extern long syscall(long number, ...);

// syscall takes any number of arguments, which the importer does not.
/// pidfd_open(2): a descriptor, close-on-exec, or -1.
static inline int opcluster_process_descriptor(pid_t process) {
  return (int)syscall(SYS_pidfd_open, process, 0);
}

// prctl takes any number of arguments, which the importer does not.
static inline int opcluster_forbid_dumps(void) {
  // The Swift runtime would print registers and memory of a crash, and hangs where it may not read
  // them: a process that cannot be dumped just ends.
  static const int crashes[] = {SIGQUIT, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP};
  for (unsigned at = 0; at < sizeof(crashes) / sizeof(*crashes); at++) {
    signal(crashes[at], SIG_DFL);
  }
  return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}
