// What an operation of a fault row does: it says in a file, independent of the daemons, when it
// began and when it ended, and takes the time it is told to between.
//
//   FaultOperation FILE MILLISECONDS
//
// Each line is one write to a file opened for appending, so that the kernel puts them in one order:
//   GRAPH.INDEX ATTEMPT PID SESSION start|end NANOSECONDS-OF-CLOCK_MONOTONIC
// The first, the second and the fourth word are parts of OP_FENCE, which names every start.

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

int main(int count, char **words) {
  if (count != 3) return 64;
  if (say(words[1], "start") != 0) return 74;
  long milliseconds = strtol(words[2], NULL, 10);
  struct timespec rest = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  while (nanosleep(&rest, &rest) != 0 && errno == EINTR) {}
  return say(words[1], "end") == 0 ? 0 : 74;
}
