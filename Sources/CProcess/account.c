// The rights of another account: for a while, for one thread that opens files in its name, or for
// good, for a child that is about to execute.
//
// The calls of the C library would change all threads of the process, by signals to them: here they
// are the kernel's own, which change the calling thread alone.
#define _GNU_SOURCE
#include "op_process.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

/// setfsuid(2) does not say whether it has done anything.
static bool set_file_user(uid_t user) {
  syscall(SYS_setfsuid, user);
  return (uid_t)syscall(SYS_setfsuid, -1) == user;
}

static bool set_file_group(gid_t group) {
  syscall(SYS_setfsgid, group);
  return (gid_t)syscall(SYS_setfsgid, -1) == group;
}

void op_account_leave(const struct op_groups *own) {
  bool left = set_file_user(geteuid()) && set_file_group(getegid()) &&
              syscall(SYS_setgroups, own->count, own->list) == 0;
  // A thread that keeps the rights of somebody else would do everything that follows as him.
  if (!left) _exit(70);
}

int op_account_enter(const struct op_account *account, struct op_groups *own) {
  long count = syscall(SYS_getgroups, OP_GROUP_LIMIT, own->list);
  if (count < 0) return errno;
  own->count = (size_t)count;
  // The user goes last: with him go the rights to change the others' files.
  if (syscall(SYS_setgroups, account->group_count, account->groups) != 0) return errno;
  if (set_file_group(account->group) && set_file_user(account->user)) return 0;
  op_account_leave(own);
  return EPERM;
}

bool op_account_become(const struct op_account *account) {
  return syscall(SYS_setgroups, account->group_count, account->groups) == 0 &&
         syscall(SYS_setresgid, account->group, account->group, account->group) == 0 &&
         syscall(SYS_setresuid, account->user, account->user, account->user) == 0;
}
