// What the shim's own files know of a lease: the page that worker, children and guard share.
#ifndef OP_LEASE_H
#define OP_LEASE_H

#include "op_process.h"

#include <stdatomic.h>

struct op_lease {
  /// Nanoseconds of CLOCK_BOOTTIME.
  _Atomic int64_t until;
  /// Trees that live by it.
  _Atomic int32_t count;
  _Atomic uint64_t expiries;
  /// Whether a round of killing is under way. The guard sets it before it looks at `until` for the
  /// last time, the worker writes `until` before it reads this: one of the two sees the other.
  _Atomic bool killing;
  /// An eventfd by which the guard is told to look again.
  int wake;
};

#endif
