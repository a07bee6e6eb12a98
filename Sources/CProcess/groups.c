// Ends and removes a folder of a cgroup hierarchy together with everything beneath it: of version 2,
// which kills by itself, and of version 1, which has to be walked. Used by the worker and by the
// guard; allocates nothing.
#define _GNU_SOURCE
#include "op_process.h"
#include "process_table.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/// The worker makes two levels; an operation that may make groups of its own adds few.
enum { DEEPEST_GROUP = 6 };

bool op_group_is_populated(int events) {
  char text[256];
  ssize_t length = pread(events, text, sizeof(text) - 1, 0);
  if (length <= 0) return true;
  text[length] = 0;
  return strstr(text, "populated 0") == NULL;
}

static int open_group(int folder, const char *name) {
  return openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int op_group_kill(const char *path) {
  int folder = open_group(AT_FDCWD, path);
  if (folder < 0) return errno;
  int outcome = 0;
  int file = openat(folder, "cgroup.kill", O_WRONLY | O_CLOEXEC);
  if (file < 0 || write(file, "1", 1) != 1) outcome = errno;
  if (file >= 0) close(file);
  close(folder);
  return outcome;
}

bool op_legacy_is_populated(int processes) {
  char byte;
  return pread(processes, &byte, 1, 0) != 0;
}

/// Whether the folder's list still names the process.
static bool is_listed(int folder, pid_t wanted) {
  int file = openat(folder, "cgroup.procs", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char text[4096];
  pid_t process = 0;
  bool found = false;
  ssize_t bytes;
  while (!found && (bytes = read(file, text, sizeof(text))) > 0) {
    for (ssize_t index = 0; index < bytes && !found; index++) {
      bool digit = text[index] >= '0' && text[index] <= '9';
      if (!digit) found = process == wanted;
      process = digit ? process * 10 + (text[index] - '0') : 0;
    }
  }
  close(file);
  return found;
}

struct legacy_walk {
  int depth;
  long found;
};

/// SIGKILL to everything that the folder's list names. The numbers may pass to others between the
/// look and the kill only if their owners end by themselves in that moment: each is pinned, and
/// the list read again.
static void kill_listed(int folder, struct legacy_walk *walk) {
  int file = openat(folder, "cgroup.procs", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  char text[4096];
  pid_t process = 0;
  for (;;) {
    ssize_t bytes = read(file, text, sizeof(text));
    if (bytes <= 0) break;
    for (ssize_t index = 0; index < bytes; index++) {
      if (text[index] >= '0' && text[index] <= '9') {
        process = process * 10 + (text[index] - '0');
        continue;
      }
      if (process > 1 && process != getpid()) {
        walk->found++;
        int pinned = op_process_descriptor(process);
        if (pinned >= 0 && is_listed(folder, process)) op_process_signal(pinned, SIGKILL);
        if (pinned >= 0) close(pinned);
      }
      process = 0;
    }
  }
  close(file);
}

static void set_frozen(int folder, bool frozen) {
  int file = openat(folder, "freezer.state", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  const char *state = frozen ? "FROZEN" : "THAWED";
  ssize_t written = write(file, state, strlen(state));
  (void)written;
  close(file);
}

static void kill_legacy_entry(int folder, const char *name, unsigned char type, void *raw);

static void kill_legacy(int folder, struct legacy_walk *walk) {
  set_frozen(folder, true);
  kill_listed(folder, walk);
  op_for_each_entry(folder, kill_legacy_entry, walk);
  set_frozen(folder, false);
}

static void kill_legacy_entry(int folder, const char *name, unsigned char type, void *raw) {
  struct legacy_walk *walk = raw;
  if (type != DT_DIR || walk->depth >= DEEPEST_GROUP) return;
  int inner = open_group(folder, name);
  if (inner < 0) return;
  walk->depth++;
  kill_legacy(inner, walk);
  walk->depth--;
  close(inner);
}

long op_legacy_kill(const char *path) {
  int folder = open_group(AT_FDCWD, path);
  if (folder < 0) return -errno;
  struct legacy_walk walk = {0};
  kill_legacy(folder, &walk);
  close(folder);
  return walk.found;
}

static int remove_tree(int folder, const char *name, int depth);

static void remove_entry(int folder, const char *name, unsigned char type, void *raw) {
  int depth = *(int *)raw;
  if (type == DT_DIR && depth < DEEPEST_GROUP) remove_tree(folder, name, depth + 1);
}

static int remove_tree(int folder, const char *name, int depth) {
  int inner = open_group(folder, name);
  if (inner < 0) return errno;
  op_for_each_entry(inner, remove_entry, &depth);
  close(inner);
  return unlinkat(folder, name, AT_REMOVEDIR) == 0 ? 0 : errno;
}

int op_group_remove(const char *path) { return remove_tree(AT_FDCWD, path, 0); }
