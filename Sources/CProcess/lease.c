// The lease of exclusive operations: a page of memory that the worker writes and the guard reads.
// It needs neither of them to be awake, so that a stopped worker cannot prolong it.
#define _GNU_SOURCE
#include "lease.h"

#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct op_lease *op_lease_make(void) {
  void *page = mmap(NULL, sizeof(struct op_lease), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return NULL;
  struct op_lease *lease = page;
  lease->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (lease->wake >= 0) return lease;
  munmap(page, sizeof(struct op_lease));
  return NULL;
}

int64_t op_boot_time(void) {
  struct timespec time;
  clock_gettime(CLOCK_BOOTTIME, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

bool op_lease_holds(const struct op_lease *lease) {
  return op_boot_time() < atomic_load(&lease->until);
}

bool op_lease_settles(const struct op_lease *lease, int64_t nanoseconds) {
  for (int64_t end = op_boot_time() + nanoseconds; op_lease_holds(lease);) {
    if (!atomic_load(&lease->killing)) return true;
    if (op_boot_time() >= end) return false;
    struct timespec pause = {.tv_nsec = 200000};
    nanosleep(&pause, NULL);
  }
  return false;
}

static void wake_guard(struct op_lease *lease) {
  uint64_t one = 1;
  ssize_t written = write(lease->wake, &one, sizeof(one));
  (void)written;
}

void op_lease_set(struct op_lease *lease, int64_t until) {
  int64_t before = atomic_exchange(&lease->until, until);
  // A longer lease is seen when the guard wakes up for the shorter one, unless that is over.
  if (until < before || before <= op_boot_time()) wake_guard(lease);
}

void op_lease_count(struct op_lease *lease, int change) {
  if (atomic_fetch_add(&lease->count, change) == 0) wake_guard(lease);
}

uint64_t op_lease_expiries(const struct op_lease *lease) { return atomic_load(&lease->expiries); }
