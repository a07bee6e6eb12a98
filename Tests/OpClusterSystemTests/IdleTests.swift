// A thread that waits for descriptors alone sleeps until one of them speaks: nothing wakes it up in
// between, so that an idle program costs nothing.

import FoundationEssentials
import Glibc
import OpClusterSystem
import Testing

@Suite struct Idle {
  @Test func withoutSocketsNothingWakesUp() throws {
    let mailbox = try Mailbox<Int>(capacity: 4)
    let name = "sleeper-\(UInt16.random(in: 0 ... .max))"
    let thread = try startThread(name: name) {
      var poller = Poller()
      _ = poller.add(descriptor: mailbox.descriptor)
      _ = try? poller.wait(until: nil)
    }
    // Its beginning may fall into the first spans; a slice of libzmq's would fall into each.
    var hasSlept = false
    for _ in 0..<10 where !hasSlept {
      let before = wakeUps(ofThread: name)
      usleep(350_000)
      hasSlept = before != nil && wakeUps(ofThread: name) == before
    }
    #expect(hasSlept)
    _ = mailbox.post(1)
    thread.join()
  }

  /// How often the kernel has put a thread to sleep and woken it up; nil: there is no such thread.
  private func wakeUps(ofThread name: String) -> String? {
    let tasks = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")
    for task in tasks ?? [] {
      let folder = "/proc/self/task/\(task)"
      guard text("\(folder)/comm") == "\(name)\n" else { continue }
      return text("\(folder)/status")?.split(separator: "\n").first {
        $0.hasPrefix("voluntary_ctxt_switches:")
      }.map(String.init)
    }
    return nil
  }
  private func text(_ path: String) -> String? {
    try? String(contentsOfFile: path, encoding: .utf8)
  }
}
