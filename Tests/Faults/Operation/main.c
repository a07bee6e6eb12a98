// What an operation of a fault row does: it says in a file, independent of the daemons, when it
// began and when it ended, and takes the time it is told to between.
//
//   FaultOperation FILE MILLISECONDS
//   FaultOperation --beat FILE MILLISECONDS    says `alive` every 10 ms as well
//   FaultOperation --hold THREAD MILLISECONDS  no operation: holds one thread of a process still
//
// Each line is one write to a file opened for appending, so that the kernel puts them in one order:
//   GRAPH.INDEX ATTEMPT PID SESSION start|alive|end NANOSECONDS-OF-CLOCK_MONOTONIC
// The first, the second and the fourth word are parts of OP_FENCE, which names every start.

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int say(const char *path, const char *what) {
  const char *fence = getenv("OP_FENCE");
  const char *dash = fence ? strchr(fence, '-') : NULL;
  const char *dot = fence ? strrchr(fence, '.') : NULL;
  if (!dash || !dot || dot < dash) return -1;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  char line[256];
  int count = snprintf(
      line, sizeof line, "%.*s %s %d %.*s %s %lld\n", (int)(dot - dash - 1), dash + 1, dot + 1,
      (int)getpid(), (int)(dash - fence), fence, what,
      (long long)now.tv_sec * 1000000000LL + now.tv_nsec);
  int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return -1;
  ssize_t written = write(file, line, (size_t)count);
  close(file);
  return written == count ? 0 : -1;
}

static void pass(long milliseconds) {
  struct timespec rest = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  while (nanosleep(&rest, &rest) != 0 && errno == EINTR) {}
}

/// The other threads of its process go on; when this one ends, so does the hold.
static int hold(pid_t thread, long milliseconds) {
  if (ptrace(PTRACE_SEIZE, thread, 0, 0) != 0) return 77;
  if (ptrace(PTRACE_INTERRUPT, thread, 0, 0) != 0) return 77;
  int status = 0;
  if (waitpid(thread, &status, __WALL) != thread || !WIFSTOPPED(status)) return 77;
  printf("held\n");
  fflush(stdout);
  pass(milliseconds);
  return ptrace(PTRACE_DETACH, thread, 0, 0) == 0 ? 0 : 77;
}

int main(int count, char **words) {
  int is_hold = count == 4 && strcmp(words[1], "--hold") == 0;
  int is_beat = count == 4 && strcmp(words[1], "--beat") == 0;
  if (is_hold) return hold((pid_t)strtol(words[2], NULL, 10), strtol(words[3], NULL, 10));
  if (count != 3 + is_beat) return 64;
  const char *path = words[1 + is_beat];
  long milliseconds = strtol(words[2 + is_beat], NULL, 10);
  if (say(path, "start") != 0) return 74;
  for (; is_beat && milliseconds > 10; milliseconds -= 10) {
    pass(10);
    if (say(path, "alive") != 0) return 74;
  }
  pass(milliseconds);
  return say(path, "end") == 0 ? 0 : 74;
}
