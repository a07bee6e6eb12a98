// An allocation on disk: what is kept, what is asked of its follower, and what is too large to be
// read.

import FoundationEssentials
import Glibc
import OpClusterAllocation
import OpClusterFolders
import OpClusterModel
import Testing

@testable import opbatch

@Suite struct AllocationFolderTests {
  private let parent = "/tmp/opbatch-allocations-\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
  private let settings = AllocationSettings(
    name: "night", least: 0, most: 3, seconds: 60, idleSeconds: 5, arguments: ["-c", "4"],
    program: "/bin/opworker")

  private func with(_ body: (AllocationFolder) throws -> Void) throws {
    defer { try? FileManager.default.removeItem(atPath: parent) }
    let place = AllocationFolder("night", in: parent)
    try place.record(settings)
    try body(place)
  }

  @Test func whatIsKeptIsReadAgain() throws {
    try with { place in
      #expect(try AllocationFolder.existing("night", in: parent).readSettings() == settings)
      var status = try place.readStatus()
      status.policy.refused("no partition", at: 1)
      try place.record(status)
      #expect(try place.readStatus().problem == "no partition")
      #expect(try place.readStatus().word(isFollowed: true) == "failing")
      #expect(try place.readStatus().word(isFollowed: place.isFollowed) == "stopped")
      try place.removeFolder()
      #expect(try AllocationFolder.listAll(in: parent).isEmpty)
    }
  }

  @Test func aRequestIsTakenOnce() throws {
    try with { place in
      #expect(try place.takeRequest() == nil)
      try place.leaveRequest(.remove)
      #expect(try place.takeRequest() == .remove)
      #expect(try place.takeRequest() == nil)
    }
  }

  /// A follower marks the folder as long as it lives.
  @Test func aFollowerIsSeen() throws {
    try with { place in
      let inUse = try place.folder.use()
      #expect(place.isFollowed)
      withExtendedLifetime(inUse) {}
    }
  }

  @Test(arguments: ["../night", "", ".", "n", "night/"])
  func otherNamesAreNone(name: String) throws {
    try with { _ in
      #expect(throws: Failure.self) { try AllocationFolder.existing(name, in: parent) }
    }
  }

  /// Files that grew beyond their bounds are refused, or are as none.
  @Test func hugeFilesAreNotRead() throws {
    try with { place in
      let log = Array(repeating: UInt8(ascii: "x"), count: Limits.allocationLogBytes + 1)
      try place.folder.replace("job-1.log", with: log)
      #expect(throws: FolderError.self) { try place.readLog(named: "job-1.log") }
      try place.folder.replace("job-2.log", with: Array("it ran".utf8))
      #expect(try place.readLog(named: "job-2.log") == "it ran")
      #expect(try place.readLog(named: "job-3.log") == nil)
      try place.folder.replace(
        "settings.json", with: Array(repeating: 32, count: Limits.allocationFileBytes + 1))
      #expect(try AllocationFolder.listAll(in: parent).isEmpty)
    }
  }
}
