// Removes folders that somebody else has filled, whatever he did to them: by descriptors, following
// no link, entering no other file system. A folder within a folder that is not empty is lifted to
// the top before it is emptied, so that a tree of any depth takes three descriptors and no stack.
#define _GNU_SOURCE
#include "op_process.h"
#include "process_table.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ENTRY_BYTES = 8192, NAME_BYTES = 40, DESCRIPTOR_PATH_BYTES = 40 };

struct removal {
  /// The folder to be emptied.
  int top;
  /// How many more entries may be looked at.
  size_t budget;
  /// There was one more.
  bool is_over;
  /// Entries that this pass over a folder has removed, or lifted to the top.
  size_t progress;
  /// The first reason why something stays, of this pass.
  int problem;
  /// Names what is lifted.
  unsigned long lifted;
};

static void note(struct removal *removal, int error) {
  if (removal->problem == 0) removal->problem = error;
}

static int open_inside(int parent, const char *name, int flags) {
  struct open_how how = {
      .flags = (uint64_t)(unsigned)(flags | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
      .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
  };
  long outcome = syscall(SYS_openat2, parent, name, &how, sizeof(how));
  return outcome < 0 ? -errno : (int)outcome;
}

/// Gives the owner all rights on a folder that is held without any. The path leads to exactly that
/// folder: no name is looked up again.
static void repair_mode(int folder) {
  struct stat status;
  if (fstat(folder, &status) != 0 || (status.st_mode & 0700) == 0700) return;
  char path[DESCRIPTOR_PATH_BYTES];
  snprintf(path, sizeof(path), "/proc/self/fd/%d", folder);
  if (chmod(path, 0700) != 0) return;
}

/// Takes from an open file or folder the flags that forbid its removal, which root can.
static bool clear_flags(int file) {
  int flags = 0;
  if (ioctl(file, FS_IOC_GETFLAGS, &flags) != 0) return false;
  if ((flags & (FS_IMMUTABLE_FL | FS_APPEND_FL)) == 0) return false;
  flags &= ~(FS_IMMUTABLE_FL | FS_APPEND_FL);
  return ioctl(file, FS_IOC_SETFLAGS, &flags) == 0;
}

/// Opens a folder to be emptied, with all rights of its owner if he is us: a descriptor or -errno.
static int open_to_empty(int parent, const char *name) {
  int handle = open_inside(parent, name, O_PATH);
  if (handle < 0) return handle;
  repair_mode(handle);
  int folder = openat(handle, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int error = errno;
  if (folder >= 0) {
    // Flags forbid the repair of modes as well.
    if (clear_flags(folder)) repair_mode(handle);
  }
  close(handle);
  return folder < 0 ? -error : folder;
}

/// Whether a second try to remove an entry may go better.
static bool unlock(int folder, const char *name) {
  bool unlocked = clear_flags(folder);
  struct stat status;
  if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return unlocked;
  // To open a device could do something.
  if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) return unlocked;
  int file = openat(folder, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0) return unlocked;
  unlocked = clear_flags(file) || unlocked;
  close(file);
  return unlocked;
}

/// unlinkat(2), past flags: 0 or errno.
static int remove_name(int folder, const char *name, int flags) {
  if (unlinkat(folder, name, flags) == 0) return 0;
  int error = errno;
  if (error != EPERM || !unlock(folder, name)) return error;
  return unlinkat(folder, name, flags) == 0 ? 0 : errno;
}

/// Puts a folder that is not empty among the entries of the top: 0 or errno.
static int lift(struct removal *removal, int folder, const char *name) {
  char target[NAME_BYTES];
  for (int tries = 0; tries < 1000; tries++) {
    snprintf(target, sizeof(target), ".removed-%lu", removal->lifted++);
    if (renameat(folder, name, removal->top, target) == 0) return 0;
    if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR) return errno;
  }
  return EEXIST;
}

static void drain(struct removal *removal, int folder);

/// A folder that is not empty: one of the top is emptied, one further down is lifted. 0 or errno.
static int remove_full(struct removal *removal, int folder, const char *name) {
  int inner = open_to_empty(folder, name);
  if (inner < 0) return -inner;
  if (folder != removal->top) {
    close(inner);
    return lift(removal, folder, name);
  }
  size_t before = removal->progress;
  drain(removal, inner);
  close(inner);
  if (removal->is_over) return 0;
  int error = remove_name(folder, name, AT_REMOVEDIR);
  // What keeps it full has been noted.
  return error == ENOTEMPTY && removal->progress > before ? 0 : error;
}

static void remove_entry(struct removal *removal, int folder, const char *name,
                         unsigned char type) {
  removal->is_over = removal->budget == 0;
  if (removal->is_over) return;
  // What stays costs as much as what goes.
  removal->budget--;
  int error = type == DT_DIR ? EISDIR : remove_name(folder, name, 0);
  if (error == EISDIR || (error == EPERM && type == DT_UNKNOWN)) {
    error = remove_name(folder, name, AT_REMOVEDIR);
    if (error == ENOTEMPTY || error == EEXIST) error = remove_full(removal, folder, name);
  }
  if (error == 0) {
    removal->progress++;
  } else if (error != ENOENT) {
    note(removal, error);
  }
}

/// One pass; whether the folder had any entry.
static bool pass(struct removal *removal, int folder) {
  char buffer[ENTRY_BYTES] __attribute__((aligned(8)));
  bool found = false;
  if (lseek(folder, 0, SEEK_SET) < 0) note(removal, errno);
  while (!removal->is_over) {
    long bytes = syscall(SYS_getdents64, folder, buffer, sizeof(buffer));
    if (bytes < 0) note(removal, errno);
    if (bytes <= 0) break;
    for (long offset = 0; offset < bytes && !removal->is_over;) {
      struct dirent64 *entry = (struct dirent64 *)(buffer + offset);
      offset += entry->d_reclen;
      if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
      found = true;
      remove_entry(removal, folder, entry->d_name, entry->d_type);
    }
  }
  return found;
}

/// Passes over the folder until nothing is in it, nothing more can be removed, or the budget is
/// used up.
static void drain(struct removal *removal, int folder) {
  int problem = removal->problem;
  size_t progress;
  do {
    progress = removal->progress;
    removal->problem = problem;
    if (!pass(removal, folder)) return;
  } while (removal->progress > progress && !removal->is_over);
}

static int empty(int folder, size_t budget) {
  struct removal removal = {.top = folder, .budget = budget};
  drain(&removal, folder);
  if (removal.is_over) return EAGAIN;
  return removal.problem;
}

int op_empty_beneath(int root, const char *path, size_t budget) {
  const char *name;
  int parent = op_open_parent(root, path, &name);
  if (parent < 0) return -parent;
  int folder = open_to_empty(parent, name);
  close(parent);
  if (folder < 0) return -folder;
  int outcome = empty(folder, budget);
  close(folder);
  return outcome;
}

static int remove_tree(int parent, const char *name, size_t budget) {
  int error = remove_name(parent, name, 0);
  if (error == 0 || error == ENOENT) return 0;
  if (error == EISDIR || error == EPERM) error = remove_name(parent, name, AT_REMOVEDIR);
  if (error == 0 || error == ENOENT) return 0;
  if (error != ENOTEMPTY && error != EEXIST) return error;
  int folder = open_to_empty(parent, name);
  if (folder < 0) return -folder;
  error = empty(folder, budget);
  close(folder);
  if (error != 0) return error;
  return remove_name(parent, name, AT_REMOVEDIR);
}

int op_remove_beneath(int root, const char *path, size_t budget) {
  const char *name;
  int parent = op_open_parent(root, path, &name);
  if (parent < 0) return parent == -ENOENT ? 0 : -parent;
  int outcome = remove_tree(parent, name, budget);
  close(parent);
  return outcome;
}

int op_remove_tree(const char *path, size_t budget) {
  char folder[4096];
  size_t length = strlen(path);
  while (length > 1 && path[length - 1] == '/') length--;
  if (length == 0 || length >= sizeof(folder)) return ENAMETOOLONG;
  memcpy(folder, path, length);
  folder[length] = 0;
  char *slash = strrchr(folder, '/');
  const char *name = slash == NULL ? folder : slash + 1;
  if (*name == 0 || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return EINVAL;
  int parent;
  if (slash == NULL || slash == folder) {
    parent = open(slash == NULL ? "." : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  } else {
    *slash = 0;
    parent = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
  }
  if (parent < 0) return errno == ENOENT ? 0 : errno;
  int outcome = remove_tree(parent, name, budget);
  close(parent);
  return outcome;
}
