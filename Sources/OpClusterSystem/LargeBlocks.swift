// How the C library keeps memory for messages, which are large now and then.

import CSystem

/// From now on blocks as large as large messages go back to the system when they are let go, rather
/// than leave holes that the next ones do not fit (G29). For programs that hold many messages.
///
/// Once the C library has been told one of the two thresholds it no longer finds the other itself,
/// and would give the end of its heap back each time: both are told.
public func returnLargeBlocks() {
  // Above what the turns of a busy coordinator need again and again, since fresh pages cost time.
  let largeBlock: Int32 = 4 << 20
  _ = mallopt(M_MMAP_THRESHOLD, largeBlock)
  _ = mallopt(M_TRIM_THRESHOLD, 4 * largeBlock)
}

/// Gives back what the C library keeps for the next ones; takes the longer the more it has.
public func returnFreeMemory() { _ = malloc_trim(0) }
