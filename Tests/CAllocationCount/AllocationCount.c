#include "CAllocationCount.h"

#include <errno.h>
#include <stddef.h>

// The names under which the C library exports its own.
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static __thread uint64_t count;
static __thread uint64_t bytes;

uint64_t allocation_count(void) { return count; }
uint64_t allocation_bytes(void) { return bytes; }

static void note(size_t size) {
  count += 1;
  bytes += size;
}

void *malloc(size_t size) {
  note(size);
  return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
  note(number * size);
  return __libc_calloc(number, size);
}

void *realloc(void *old, size_t size) {
  note(size);
  return __libc_realloc(old, size);
}

void *memalign(size_t alignment, size_t size) {
  note(size);
  return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  note(size);
  return __libc_memalign(alignment, size);
}

int posix_memalign(void **result, size_t alignment, size_t size) {
  note(size);
  void *memory = __libc_memalign(alignment, size);
  if (memory == NULL) return ENOMEM;
  *result = memory;
  return 0;
}
