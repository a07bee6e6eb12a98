// Reads the process table with system calls and stack buffers only, because the guard does so in
// a forked copy of a process whose other threads may have held the allocator's locks.
#define _GNU_SOURCE
#include "process_table.h"
#include "op_process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DIRECTORY_BYTES = 8192, ENVIRONMENT_BYTES = 4096, PATH_BYTES = 48 };

pid_t op_parse_process(const char *name) {
  long value = 0;
  if (*name == 0) return 0;
  for (; *name != 0; name++) {
    if (*name < '0' || *name > '9' || value > 100000000) return 0;
    value = value * 10 + (*name - '0');
  }
  return (pid_t)value;
}

void op_for_each_entry(int folder, op_entry_visitor visit, void *context) {
  char buffer[DIRECTORY_BYTES] __attribute__((aligned(8)));
  for (;;) {
    long bytes = syscall(SYS_getdents64, folder, buffer, sizeof(buffer));
    if (bytes <= 0) return;
    for (long offset = 0; offset < bytes;) {
      struct dirent64 *entry = (struct dirent64 *)(buffer + offset);
      offset += entry->d_reclen;
      if (entry->d_name[0] != '.') visit(folder, entry->d_name, entry->d_type, context);
    }
  }
}

/// Writes "/proc/<process>/environ".
static void environment_path(pid_t process, char path[PATH_BYTES]) {
  char digits[12];
  int count = 0;
  do {
    digits[count++] = (char)('0' + process % 10);
    process /= 10;
  } while (process > 0);
  char *end = stpcpy(path, "/proc/");
  while (count > 0) *end++ = digits[--count];
  strcpy(end, "/environ");
}

/// Compares entry by entry while reading, so that an environment of any size costs no memory.
static bool environment_matches(int file, const char *entry, bool exactly) {
  char buffer[ENVIRONMENT_BYTES];
  size_t length = strlen(entry), matched = 0;
  bool possible = true;
  for (;;) {
    ssize_t bytes = read(file, buffer, sizeof(buffer));
    if (bytes <= 0) return exactly && possible && matched == length;
    for (ssize_t index = 0; index < bytes; index++) {
      if (buffer[index] == 0) {
        if (possible && matched == length) return true;
        possible = true;
        matched = 0;
      } else if (possible) {
        possible = matched < length && buffer[index] == entry[matched];
        matched++;
        if (possible && matched == length && !exactly) return true;
      }
    }
  }
}

bool op_environment_has(pid_t process, const char *entry, bool exactly) {
  char path[PATH_BYTES];
  if (process <= 0 || entry == NULL || *entry == 0) return false;
  environment_path(process, path);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  bool found = environment_matches(file, entry, exactly);
  close(file);
  return found;
}

struct marked {
  const char *entry;
  pid_t self;
  size_t count;
};

static void kill_if_marked(int folder, const char *name, unsigned char type, void *raw) {
  (void)folder, (void)type;
  struct marked *marked = raw;
  pid_t process = op_parse_process(name);
  if (process <= 1 || process == marked->self) return;
  if (!op_environment_has(process, marked->entry, false)) return;
  // The number may pass to another process at any time: pin it, then look again.
  int descriptor = op_process_descriptor(process);
  if (descriptor < 0) return;
  if (op_environment_has(process, marked->entry, false)) {
    marked->count++;
    op_process_signal(descriptor, SIGKILL);
  }
  close(descriptor);
}

size_t op_kill_marked(const char *entry) {
  struct marked marked = {.entry = entry, .self = getpid()};
  int folder = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return 0;
  op_for_each_entry(folder, kill_if_marked, &marked);
  close(folder);
  return marked.count;
}

pid_t op_next_ended_child(void) {
  siginfo_t info = {0};
  if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0) return 0;
  return info.si_pid;
}

pid_t op_take_stopped_child(pid_t process) {
  siginfo_t info = {0};
  idtype_t which = process == 0 ? P_ALL : P_PID;
  if (waitid(which, (id_t)process, &info, WSTOPPED | WNOHANG) != 0) return 0;
  return info.si_pid;
}
