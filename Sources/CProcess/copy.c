// What the forked copies of the worker, its guard and its reapers, do alike: they take names of
// their own and know their children. System calls and stack memory only.
#define _GNU_SOURCE
#include "op_process.h"
#include "process_table.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum {
  /// How far up a process is followed; those further down come nearer as what is above them dies.
  MOST_LEVELS = 64,
};

/// Where the kernel keeps this process's command line: fields 48 and 49 of /proc/self/stat.
static char *command_line(size_t *bytes) {
  char text[2048];
  int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return NULL;
  ssize_t length = read(file, text, sizeof(text) - 1);
  close(file);
  if (length <= 0) return NULL;
  text[length] = 0;
  char *position = strrchr(text, ')');
  for (int field = 2; position != NULL && field < 48; field++) {
    position = strchr(position + 1, ' ');
  }
  if (position == NULL) return NULL;
  char *next = NULL;
  unsigned long long start = strtoull(position, &next, 10);
  unsigned long long end = strtoull(next, NULL, 10);
  if (start == 0 || end <= start || end - start > 1 << 20) return NULL;
  *bytes = (size_t)(end - start);
  return (char *)(uintptr_t)start;
}

void op_rename_self(const char *name) {
  prctl(PR_SET_NAME, name);
  size_t bytes = 0;
  char *arguments = command_line(&bytes);
  if (arguments == NULL || bytes < 2) return;
  memset(arguments, 0, bytes);
  size_t length = strlen(name) < bytes - 1 ? strlen(name) : bytes - 1;
  memcpy(arguments, name, length);
}

static int open_children(void) {
  char path[64];
  snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
  return open(path, O_RDONLY | O_CLOEXEC);
}

/// The parent of a process, by /proc/PID/stat; 0: there is none such.
static pid_t parent_of(int table, const char *name) {
  char text[512];
  snprintf(text, sizeof(text), "%s/stat", name);
  int file = openat(table, text, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  ssize_t length = read(file, text, sizeof(text) - 1);
  close(file);
  if (length <= 0) return 0;
  text[length] = 0;
  char *position = strrchr(text, ')');
  if (position == NULL || strlen(position) < 5) return 0;
  // `) S 123`: a letter for the state between two spaces.
  return (pid_t)strtol(position + 4, NULL, 10);
}

static void visit_child(int table, const char *name, unsigned char type, void *raw) {
  (void)type;
  pid_t process = op_parse_process(name);
  if (process <= 1 || parent_of(table, name) != getpid()) return;
  ((op_child_visitor *)raw)[0](process);
}

bool op_for_each_child(op_child_visitor visit) {
  int file = open_children();
  if (file < 0) {
    // A kernel without this list: a walk over all processes.
    int table = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (table < 0) return false;
    op_for_each_entry(table, visit_child, &visit);
    close(table);
    return true;
  }
  char text[4096];
  pid_t process = 0;
  for (;;) {
    ssize_t bytes = read(file, text, sizeof(text));
    if (bytes <= 0) break;
    for (ssize_t at = 0; at < bytes; at++) {
      bool digit = text[at] >= '0' && text[at] <= '9';
      if (!digit && process > 1) visit(process);
      process = digit ? process * 10 + (text[at] - '0') : 0;
    }
  }
  close(file);
  return true;
}

/// Whether a process descends from this one, as far as it can be told in a bounded time.
static bool descends(int table, pid_t process) {
  for (int level = 0; level < MOST_LEVELS; level++) {
    char name[16];
    snprintf(name, sizeof(name), "%d", (int)process);
    process = parent_of(table, name);
    if (process == getpid()) return true;
    if (process <= 1) return false;
  }
  return false;
}

static void freeze(int table, const char *name, unsigned char type, void *context) {
  (void)type, (void)context;
  pid_t process = op_parse_process(name);
  if (process <= 1 || !descends(table, process)) return;
  int descriptor = op_process_descriptor(process);
  if (descriptor < 0) return;
  // Asked again: the number may have passed to another before it was pinned.
  if (descends(table, process)) op_process_signal(descriptor, SIGSTOP);
  close(descriptor);
}

void op_freeze_descendants(void) {
  int table = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (table < 0) return;
  op_for_each_entry(table, freeze, NULL);
  close(table);
}

bool op_can_list_children(void) {
  char own[16];
  ssize_t length = readlink("/proc/self", own, sizeof(own) - 1);
  if (length <= 0) return false;
  own[length] = 0;
  // That of another namespace numbers processes in another way.
  if (op_parse_process(own) != getpid()) return false;
  int file = open_children();
  if (file < 0) file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  close(file);
  return true;
}
