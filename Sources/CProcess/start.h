// How a start by a reaper gets to the worker. The shim's own files only.
#ifndef OP_START_H
#define OP_START_H

#include "op_process.h"

#include <stdatomic.h>

/// A page that the worker, the reaper and the child share. The kernel clears `pending` and wakes
/// who waits for it, so that nothing of the operation, which begins then, can hold up the news.
struct op_start {
  /// Not 0 until the child has executed or ended, or there is none.
  _Atomic uint32_t pending;
  pid_t leader;
  /// Of this, the worker reads the step and the error only.
  struct op_spawn_result result;
};

/// `op_spawn` without a reaper. Where `start` is given, it is told of the child, and the result
/// holds no descriptor.
int op_spawn_child(const struct op_spawn_request *request, struct op_spawn_result *result,
                   struct op_start *start);

#endif
