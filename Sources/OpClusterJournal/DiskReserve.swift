// Room on the disk that nobody else can take: a file that is given up when a commit finds the disk
// full, so that what already runs can still be written down (G8). Given up by the journal's
// thread, made again by whoever asks for the free bytes.

import Glibc
import Synchronization

final class DiskReserve: Sendable {
  private let path: String
  private let bytes: UInt64
  private let isHeld: Mutex<Bool>

  /// What a life that did not end in good order has left is held again.
  /// - Parameter bytes: its size; 0: there is none.
  init(folder: String, bytes: UInt64) {
    path = folder + "/journal.reserve"
    self.bytes = bytes
    isHeld = Mutex(FileSystem.size(path) != nil)
  }

  /// Makes it if the disk has twice the room, and answers what is free beside it; while it is
  /// missing, what it needs counts as taken.
  func freeBytes(in folder: String) -> UInt64? {
    isHeld.withLock { isHeld in
      guard let free = FileSystem.freeBytes(folder) else { return nil }
      if isHeld || bytes == 0 { return free }
      guard free / 2 >= bytes else { return free > bytes ? free - bytes : 0 }
      isHeld = FileSystem.allocate(path, bytes: bytes)
      // Where files cannot be given room beforehand, the measured room has to do.
      return isHeld ? FileSystem.freeBytes(folder) : free
    }
  }

  /// Gives the room free; false if there was none to give.
  func giveUp() -> Bool {
    isHeld.withLock { isHeld in
      guard isHeld else { return false }
      FileSystem.remove(path)
      isHeld = false
      return true
    }
  }
}
