// Shared by the C files of this target only.
#ifndef OP_PROCESS_TABLE_H
#define OP_PROCESS_TABLE_H

#include <stdbool.h>
#include <sys/types.h>

typedef void (*op_entry_visitor)(int folder, const char *name, unsigned char type, void *context);

/// Visits the entries of an open folder, without those that begin with a dot.
void op_for_each_entry(int folder, op_entry_visitor visit, void *context);

/// The process number that `name` spells in full, or 0.
pid_t op_parse_process(const char *name);

/// The folder of a path beneath `root`, no link being followed, and where the path's last part
/// begins: a descriptor (O_PATH) or -errno.
int op_open_parent(int root, const char *path, const char **name);

/// Gives a copy a command line of its own, so that a kill of the worker by its name does not take
/// the copy along. The range is private memory since the fork.
void op_rename_self(const char *name);

typedef void (*op_child_visitor)(pid_t process);

/// Visits the children of this process, which has one thread; those that are born or come meanwhile
/// may be missed. False: they cannot be listed.
bool op_for_each_child(op_child_visitor visit);

/// Stops all that descends from this process, so that it has no more children; those that are born
/// meanwhile may be missed. Walks over all processes.
void op_freeze_descendants(void);

#endif
