// The kernel's event set, timer and memory file, which the Glibc module does not offer to Swift.
#define _GNU_SOURCE
#include "op_process.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { MOST_TOKENS = 256 };

int op_poller_make(void) {
  int descriptor = epoll_create1(EPOLL_CLOEXEC);
  return descriptor < 0 ? -errno : descriptor;
}

int op_poller_watch(int poller, int descriptor, uint64_t token) {
  struct epoll_event event = {.events = EPOLLIN, .data.u64 = token};
  return epoll_ctl(poller, EPOLL_CTL_ADD, descriptor, &event) == 0 ? 0 : errno;
}

size_t op_poller_ready(int poller, uint64_t *tokens, size_t limit) {
  struct epoll_event events[MOST_TOKENS];
  int most = limit < MOST_TOKENS ? (int)limit : MOST_TOKENS;
  int count = epoll_wait(poller, events, most, 0);
  for (int index = 0; index < count; index++) tokens[index] = events[index].data.u64;
  return count < 0 ? 0 : (size_t)count;
}

int op_timer_make(void) {
  int descriptor = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  return descriptor < 0 ? -errno : descriptor;
}

void op_timer_set(int timer, uint32_t milliseconds) {
  struct timespec time = {.tv_sec = milliseconds / 1000,
                          .tv_nsec = (long)(milliseconds % 1000) * 1000000L};
  struct itimerspec setting = {.it_interval = time, .it_value = time};
  timerfd_settime(timer, 0, &setting, NULL);
}

int op_memory_file(const char *name) {
  int descriptor = memfd_create(name, MFD_CLOEXEC);
  return descriptor < 0 ? -errno : descriptor;
}

pid_t op_thread_number(void) { return gettid(); }
