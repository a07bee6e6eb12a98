// A wall clock that is wrong on command: loaded into a daemon by LD_PRELOAD, it stands before the
// calls that read CLOCK_REALTIME. The other side is a file of one 64-bit number, mapped by both,
// whose path is in FAULT_CLOCK: the seconds that the wall clock is ahead, changed while the daemon
// runs. Every other clock, and every wait, is the kernel's own. (Not by libfaketime: with 0.9.10
// loaded, Swift's `CommandLine.arguments` is empty, so that daemons do not see their flags.)

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static _Atomic long long *ahead;

__attribute__((constructor)) static void find(void) {
  const char *path = getenv("FAULT_CLOCK");
  int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
  if (file < 0) return;
  void *mapped = mmap(NULL, sizeof *ahead, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (mapped != MAP_FAILED) ahead = mapped;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  long code = syscall(SYS_clock_gettime, clock, now);
  int is_wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
  if (code == 0 && is_wall && ahead) now->tv_sec += atomic_load(ahead);
  return (int)code;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  (void)zone;
  struct timespec time;
  if (clock_gettime(CLOCK_REALTIME, &time) != 0) return -1;
  now->tv_sec = time.tv_sec;
  now->tv_usec = time.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *out) {
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}
