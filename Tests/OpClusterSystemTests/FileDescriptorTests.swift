// Whole reads and writes, wake-ups, and what is known of the process.

import Glibc
import Testing

@testable import OpClusterSystem

@Suite struct FileDescriptorTests {
  /// Runs a test with the two ends of a pipe: to read from, to write to.
  private func withPipe(_ body: (FileDescriptor, FileDescriptor) throws -> Void) throws {
    var ends: [Int32] = [-1, -1]
    try #require(unsafe pipe(&ends) == 0)
    defer { for end in ends { close(end) } }
    try body(FileDescriptor(ends[0]), FileDescriptor(ends[1]))
  }

  @Test func moreThanAPipeHolds() throws {
    try withPipe { reader, writer in
      #expect(fcntl(writer.number, F_SETFL, O_NONBLOCK) == 0)
      let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0) }
      let thread = try startThread(name: "writer") {
        #expect(writer.writeAll(bytes, waits: true) == nil)
      }
      var found: [UInt8] = []
      while found.count < bytes.count {
        var piece = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe read(reader.number, &piece, piece.count)
        try #require(count > 0)
        found += piece.prefix(count)
      }
      thread.join()
      #expect(found == bytes)
    }
  }

  @Test func aFullPipeIsAnErrorUnlessItIsWaitedFor() throws {
    try withPipe { _, writer in
      #expect(fcntl(writer.number, F_SETFL, O_NONBLOCK) == 0)
      let error = writer.writeAll([UInt8](repeating: 1, count: 300_000))
      #expect(error == ErrorNumber(EAGAIN))
    }
    #expect(FileDescriptor(-1).writeAll([1])?.text == "Bad file descriptor")
  }

  @Test func linesAndLimits() throws {
    try withPipe { reader, writer in
      #expect(writer.writeAll(Array("one\ntwo three".utf8)) == nil)
      let lines = [try reader.readLine(limit: 10), try reader.readLine(limit: 2)]
      #expect(lines == [Array("one".utf8), Array("two".utf8)])
      writer.writeOnce([10])
      #expect(fcntl(reader.number, F_SETFL, O_NONBLOCK) == 0)
      let empty = #expect(throws: ErrorNumber.self) { try reader.readAll(limit: 100) }
      #expect(empty?.code == EAGAIN)
      #expect(!reader.hasEnded)
      writer.writeOnce([1, 2, 3])
      let error = #expect(throws: ErrorNumber.self) { try reader.readAll(limit: 2) }
      #expect(error?.isTooLarge == true)
    }
  }

  @Test func filesOfTheKernel() {
    #expect(FileDescriptor.text(ofKernelFile: "/proc/self/statm")?.hasSuffix("\n") == true)
    #expect(FileDescriptor.text(ofKernelFile: "/proc/self/nothing") == nil)
  }

  @Test func wakeUpsAreKept() throws {
    let wakeUp = try WakeUp()
    #expect(!wakeUp.take())
    for _ in 0..<3 { wakeUp.signal() }
    wakeUp.wait()
    #expect(!wakeUp.take())
    let thread = try startThread(name: "sleeper", takesSignals: false) { wakeUp.wait() }
    wakeUp.signal()
    thread.join()
  }

  @Test func variables() {
    #expect(OwnProcess.variable("OPCLUSTER_NOT_SET") == nil)
    #expect(OwnProcess.filledVariable("OPCLUSTER_NOT_SET") == nil)
    #expect(OwnProcess.filledVariable("PATH") != nil)
    #expect(ProcessLimits.descriptors(raising: false) ?? 0 > 0)
  }
}
