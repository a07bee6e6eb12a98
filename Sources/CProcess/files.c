// Opens files that somebody else has named, so that no name leads further than it may.
#define _GNU_SOURCE
#include "op_process.h"
#include "process_table.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef BPF_FS_MAGIC
#define BPF_FS_MAGIC 0xcafe4a11
#endif

/// File systems through which the kernel shows itself: under /proc/self the worker's own memory and
/// descriptors would be reached with the worker's rights.
static bool is_kernels_own(int file) {
  struct statfs information;
  if (fstatfs(file, &information) != 0) return true;
  switch ((unsigned long)information.f_type) {
    case PROC_SUPER_MAGIC:
    case SYSFS_MAGIC:
    case DEBUGFS_MAGIC:
    case TRACEFS_MAGIC:
    case SECURITYFS_MAGIC:
    case CGROUP_SUPER_MAGIC:
    case CGROUP2_SUPER_MAGIC:
    case BPF_FS_MAGIC:
      return true;
    default:
      return false;
  }
}

int op_open_root(const char *path) {
  int folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  return folder < 0 ? -errno : folder;
}

static int open_checked(int root, const char *path, int flags, mode_t mode, uint64_t resolve) {
  struct open_how how = {
      .flags = (uint64_t)(unsigned)flags,
      .mode = (flags & O_CREAT) != 0 ? mode : 0,
      .resolve = resolve,
  };
  long outcome = -1;
  // The kernel cannot be sure of `..` while somebody renames folders; at some time it is.
  for (int tries = 0; tries < 64; tries++) {
    outcome = syscall(SYS_openat2, root, path, &how, sizeof(how));
    if (outcome >= 0 || errno != EAGAIN) break;
  }
  if (outcome < 0) return -errno;
  if (!is_kernels_own((int)outcome)) return (int)outcome;
  close((int)outcome);
  return -EPERM;
}

int op_open_beneath(int root, const char *path, int flags, mode_t mode) {
  return open_checked(root, path, flags, mode,
                      RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
}

int op_open_within(int root, const char *path, int flags, mode_t mode) {
  return open_checked(root, path, flags, mode, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
}

int op_open_named(const char *path, int flags, mode_t mode) {
  return open_checked(AT_FDCWD, path, flags, mode, RESOLVE_NO_MAGICLINKS);
}

/// The folder of a path beneath `root`, and where its last part begins.
int op_open_parent(int root, const char *path, const char **name) {
  const char *slash = strrchr(path, '/');
  *name = slash == NULL ? path : slash + 1;
  if (**name == 0 || strcmp(*name, "..") == 0 || strcmp(*name, ".") == 0) return -EINVAL;
  if (slash == NULL) return op_open_beneath(root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
  char folder[4096];
  size_t length = (size_t)(slash - path);
  if (length >= sizeof(folder)) return -ENAMETOOLONG;
  memcpy(folder, path, length);
  folder[length] = 0;
  return op_open_beneath(root, folder, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
}

int op_move_beneath(int root, const char *from, const char *to) {
  const char *name, *target;
  int folder = op_open_parent(root, from, &name);
  if (folder < 0) return -folder;
  int other = op_open_parent(root, to, &target);
  if (other < 0) {
    close(folder);
    return -other;
  }
  int outcome = renameat(folder, name, other, target) == 0 ? 0 : errno;
  close(folder);
  close(other);
  return outcome;
}

int op_link_beneath(int root, const char *path, const char *target) {
  const char *name;
  int folder = op_open_parent(root, path, &name);
  if (folder < 0) return -folder;
  unlinkat(folder, name, 0);
  int outcome = symlinkat(target, folder, name) == 0 ? 0 : errno;
  close(folder);
  return outcome;
}

int op_give_beneath(int root, const char *path, uid_t user, gid_t group) {
  const char *name;
  int folder = op_open_parent(root, path, &name);
  if (folder < 0) return -folder;
  int outcome = fchownat(folder, name, user, group, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : errno;
  close(folder);
  return outcome;
}
