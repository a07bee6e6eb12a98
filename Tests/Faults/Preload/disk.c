// A disk that fails on command: loaded into a daemon by LD_PRELOAD, it stands before fdatasync and
// fsync. The other side is a file of five 64-bit numbers, mapped by both, whose path is in
// FAULT_DISK: a row reads the count and changes the rest while the daemon runs.
//
//   [0] data syncs so far   [1] the sync at which something happens; 0: none
//   [2] what happens: 1 KILL before it, 2 it fails once, 3 it and all later ones fail,
//       4 KILL after it was done
//   [3] how often a sync failed   [4] what every sync takes in addition, in milliseconds

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static _Atomic long long *numbers;

__attribute__((constructor)) static void find(void) {
  const char *path = getenv("FAULT_DISK");
  int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
  if (file < 0) return;
  void *mapped = mmap(NULL, 40, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (mapped != MAP_FAILED) numbers = mapped;
}

static int sync_with(const char *name, int file) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  if (!numbers) return real(file);
  long long pause = atomic_load(&numbers[4]);
  if (pause > 0) {
    struct timespec rest = {pause / 1000, pause % 1000 * 1000000};
    while (nanosleep(&rest, &rest) != 0 && errno == EINTR) {}
  }
  long long number = atomic_fetch_add(&numbers[0], 1) + 1;
  long long moment = atomic_load(&numbers[1]);
  int isNow = moment > 0 && number == moment;
  int isLater = moment > 0 && number > moment;
  switch (atomic_load(&numbers[2])) {
    case 1:
      if (isNow) kill(getpid(), SIGKILL);
      break;
    case 2:
    case 3:
      if (isNow || (isLater && atomic_load(&numbers[2]) == 3)) {
        atomic_fetch_add(&numbers[3], 1);
        errno = EIO;
        return -1;
      }
      break;
    case 4: {
      int code = real(file);
      if (isNow) kill(getpid(), SIGKILL);
      return code;
    }
    default:
      break;
  }
  return real(file);
}

int fdatasync(int file) { return sync_with("fdatasync", file); }
int fsync(int file) { return sync_with("fsync", file); }
