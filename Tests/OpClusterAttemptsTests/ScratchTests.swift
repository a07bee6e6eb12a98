// The worker's folder without a worker: which slots are given out again, and when (G38).

import Citations
import Glibc
import Logging
import OpClusterModel
import Testing

@testable import OpClusterAttempts

@Suite struct ScratchTests {
  private static func withScratch(_ body: (Scratch) throws -> Void) throws {
    let folder = "/tmp/attempts-test-\(UInt64.random(in: 0...UInt64.max))"
    try Folders.make(folder)
    defer { Folders.removeTree(folder) }
    let scratch = try Scratch(
      folder, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    try scratch.clear()
    try body(scratch)
  }

  // The loop removes so many entries itself; with one more the slot is another thread's to remove.
  @Test func whatTheLoopRemoves() throws {
    try Self.withScratch { scratch in
      for (extra, next) in [(0, 0), (1, 1)] {
        let slot = try scratch.takeSlot()
        #expect(slot.number == 0)
        for number in 0..<Limits.entriesRemovedAtOnce + extra {
          Folders.touch("\(slot.folder)/\(number)")
        }
        scratch.giveBack(slot)
        let other = try scratch.takeSlot()
        #expect(other.number == next && Folders.names(in: other.folder) == [])
        scratch.giveBack(other)
      }
      let deadline = MonotonicTime.seconds(30)
      while !scratch.isSwept || Folders.size(of: "\(scratch.path)/slots/0") != nil {
        try #require(deadline.isAhead, "the other thread does not remove it")
        usleep(2_000)
      }
    }
  }

  // A worker that could not clear away what an earlier one left does not use it.
  @Test(.enabled(if: geteuid() == 0, "a mount stands for what cannot be removed"))
  func whatAnEarlierWorkerLeft() throws {
    try Self.withScratch { scratch in
      let inner = "\(scratch.path)/slots/0/m"
      try Folders.make("\(scratch.path)/slots/0")
      try Folders.make(inner)
      for name in ["1.out", "1.values"] { Folders.touch("\(scratch.path)/slots/\(name)") }
      try #require(unsafe mount("none", inner, "tmpfs", 0, nil) == 0)
      defer { _ = unsafe umount2(inner, 2) }
      Folders.touch("\(inner)/file")
      try scratch.clear()
      #expect(Folders.size(of: "\(inner)/file") != nil)
      let slot = try scratch.takeSlot()
      #expect(slot.number == 1 && Folders.names(in: slot.folder) == [])
      for file in slot.files { #expect(Folders.size(of: file) == nil, "\(file)") }
    }
  }

  // What an earlier worker started is waited for as long as a reaper of it lives.
  @Test(.checks("G25")) func reapersOfAnEarlierWorker() throws {
    try Self.withScratch { scratch in
      #expect(scratch.awaitTrees(within: .zero))
      let other = unsafe open("\(scratch.path)/trees", O_RDWR | O_CLOEXEC)
      #expect(flock(other, LOCK_SH | LOCK_NB) == 0)
      #expect(!scratch.awaitTrees(within: .milliseconds(20)))
      close(other)
      #expect(scratch.awaitTrees(within: .seconds(10)))
    }
  }

  // Whatever a command puts in the place of its folder.
  @Test func whatIsNoFolderAnyMore() throws {
    try Self.withScratch { scratch in
      let changes: [(String) -> Int32] = [
        { unsafe rmdir($0) },
        { unsafe rmdir($0) + symlink("/etc", $0) },
        { path in
          Folders.touch(path + ".x")
          return unsafe rmdir(path) + rename(path + ".x", path)
        },
        { unsafe chmod($0, 0) }, { unsafe chmod($0, 0o777) },
      ]
      for (number, change) in changes.enumerated() {
        let slot = try scratch.takeSlot()
        #expect(slot.number == 0)
        try #require(change(slot.folder) == 0, "\(number)")
        scratch.giveBack(slot)
        #expect(Folders.State(of: slot.folder)?.isPrivate == true, "\(number)")
      }
      // And of what lies beside it.
      let slot = try scratch.takeSlot()
      try Folders.make(slot.values)
      Folders.touch("\(slot.values)/file")
      scratch.giveBack(slot, isSuspect: true)
      #expect(Folders.size(of: slot.values) == nil)
      #expect(try scratch.takeSlot().number == 0)
    }
  }
}

/// A moment to wait for at most.
private struct MonotonicTime {
  private let end: ContinuousClock.Instant
  static func seconds(_ count: Int) -> MonotonicTime { MonotonicTime(end: .now + .seconds(count)) }
  var isAhead: Bool { ContinuousClock.now < end }
}
