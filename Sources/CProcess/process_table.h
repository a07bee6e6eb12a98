// Shared by the C files of this target only.
#ifndef OP_PROCESS_TABLE_H
#define OP_PROCESS_TABLE_H

#include <sys/types.h>

typedef void (*op_entry_visitor)(int folder, const char *name, unsigned char type, void *context);

/// Visits the entries of an open folder, without those that begin with a dot.
void op_for_each_entry(int folder, op_entry_visitor visit, void *context);

/// The process number that `name` spells in full, or 0.
pid_t op_parse_process(const char *name);

#endif
