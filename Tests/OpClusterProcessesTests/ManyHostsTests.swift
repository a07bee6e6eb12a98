// Several hosts in one process, as a program has that runs commands on several threads: each learns
// how its own processes ended, and none takes another's for an orphan.

import Glibc
import OpClusterSystem
import Testing

@testable import OpClusterProcesses

extension ProcessTests {
  @Suite struct ManyHostsTests {
    /// Runs processes one after the other on a host of its own; returns how they ended.
    private static func ends(of count: Int, host name: String) throws -> [EndedProcess.Status] {
      guard let fence = ProcessFence(worker: name) else { return [] }
      let host = try ProcessHost(fence: fence, groups: .none, diesWithThread: false)
      var ends: [EndedProcess.Status] = []
      for token in 1...UInt64(count) {
        _ = try host.start(
          ProcessSpecification(command: .arguments(["/bin/sh", "-c", "exit 3"])), token: token)
        while ends.count < Int(token) {
          var item = pollfd(fd: host.descriptor, events: Int16(POLLIN), revents: 0)
          _ = unsafe poll(&item, 1, 1_000)
          ends += host.collectEnded().map(\.status)
        }
      }
      return ends
    }

    @Test func eachLearnsHowItsOwnEnded() async throws {
      let count = 150
      try await withThrowingTaskGroup(of: [EndedProcess.Status].self) { group in
        for number in 0..<8 {
          group.addTask {
            let mailbox = try Mailbox<[EndedProcess.Status]>(capacity: 1)
            _ = try startThread(name: "host") {
              let ends = try? Self.ends(of: count, host: "many-\(getpid())-\(number)")
              _ = mailbox.post(ends ?? [])
            }
            var taken: [[EndedProcess.Status]] = []
            while taken.isEmpty {
              mailbox.takeAll(into: &taken)
              try await Task.sleep(for: .milliseconds(5))
            }
            return taken[0]
          }
        }
        for try await ends in group {
          #expect(ends.count == count)
          #expect(ends.allSatisfy { $0 == .exited(3) }, "\(Set(ends.map { "\($0)" }))")
        }
      }
    }
  }
}
