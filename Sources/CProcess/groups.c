// Ends and removes a folder of the cgroup v2 hierarchy together with everything beneath it.
// Used by the worker at start-up and shutdown and by the guard; allocates nothing.
#define _GNU_SOURCE
#include "op_process.h"
#include "process_table.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
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
