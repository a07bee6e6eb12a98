// Reserves room on the disk: a file that is removed when a commit finds the disk full, so that
// running work can still be recorded (G8). The journal's thread removes it; a caller of `freeBytes`
// makes it again.

import Glibc
import Synchronization

final class DiskReserve: Sendable {
  private let path: String
  private let bytes: UInt64
  private let isHeld: Mutex<Bool>

  /// Takes over the file of a life that did not end in good order.
  /// - Parameter bytes: The size of the reserve; 0: none.
  init(folder: String, bytes: UInt64) {
    path = folder + "/journal.reserve"
    self.bytes = bytes
    isHeld = Mutex(FileSystem.size(path) != nil)
  }

  /// Returns the free bytes beside the reserve. Makes a missing reserve if the disk has twice its
  /// room; until then its size counts as taken.
  func freeBytes(in folder: String) -> UInt64? {
    isHeld.withLock { isHeld in
      guard let free = FileSystem.freeBytes(folder) else { return nil }
      if isHeld || bytes == 0 { return free }
      guard free / 2 >= bytes else { return free > bytes ? free - bytes : 0 }
      isHeld = FileSystem.allocate(path, bytes: bytes)
      // On a file system without preallocation the measured room must do.
      return isHeld ? FileSystem.freeBytes(folder) : free
    }
  }

  /// Frees the reserve; false if there was none.
  func giveUp() -> Bool {
    isHeld.withLock { isHeld in
      guard isHeld else { return false }
      FileSystem.remove(path)
      isHeld = false
      return true
    }
  }
}
