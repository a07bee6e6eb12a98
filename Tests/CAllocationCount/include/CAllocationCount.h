// Counts the allocations of each thread of the process that links this, by taking the place of
// malloc and its kin. Memory is given and freed by the C library as ever.

#ifndef CALLOCATIONCOUNT_H
#define CALLOCATIONCOUNT_H

#include <stdint.h>

/// The allocations of the calling thread since it began, reallocations included.
uint64_t allocation_count(void);

/// The bytes that they asked for.
uint64_t allocation_bytes(void);

#endif
