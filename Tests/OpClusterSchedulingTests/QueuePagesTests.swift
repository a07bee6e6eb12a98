// Queues are listed page by page, as other things are, and one is found by its name (G29).

import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct QueuePagesTests {
  /// `Limits.rowsPerReply`: with gaps where queues were removed, every queue comes once, in order.
  @Test func everyQueueComesOnce() throws {
    var world = World()
    world.invariantChecks = .never
    let count = 2 * Limits.rowsPerReply + 7
    for number in 1...count { world.ask(.createQueue(QueueSettings(name: "q\(number)"))) }
    for number in stride(from: 3, through: count, by: 3) { world.ask(.removeQueue("q\(number)")) }
    let expected = [0] + (1...count).filter { $0 % 3 != 0 }.map { UInt32($0) }
    for limit: UInt32 in [0, 7, 10_000] {
      var found: [UInt32] = []
      var pages = 0
      while true {
        let after = found.last.map { QueueID($0) }
        guard case .queues(let rows, let more)? = world.ask(.queues(after: after, limit: limit))
        else { throw Missing() }
        pages += 1
        found += rows.map(\.queue.number)
        #expect(rows.count <= (limit == 7 ? 7 : Limits.rowsPerReply))
        if !more { break }
        #expect(!rows.isEmpty)
      }
      #expect(found == expected)
      #expect(pages == (limit == 7 ? (expected.count + 6) / 7 : 2))
    }
    // After one that is gone, and after the last.
    #expect(names(world.ask(.queues(after: QueueID(3), limit: 1))) == ["q4"])
    #expect(names(world.ask(.queues(after: QueueID(.max)))) == [])
  }

  /// The last of many is found as the first is.
  @Test func oneByItsName() {
    var world = World()
    world.invariantChecks = .never
    for number in 1...Limits.rowsPerReply + 5 {
      world.ask(.createQueue(QueueSettings(name: "q\(number)")))
    }
    let last = "q\(Limits.rowsPerReply + 5)"
    #expect(names(world.ask(.queues(named: last))) == [last])
    #expect(names(world.ask(.queues(named: "nobody"))) == [])
  }

  private struct Missing: Error {}

  private func names(_ reply: ClientReply?) -> [String]? {
    if case .queues(let rows, more: _)? = reply { rows.map(\.settings.name) } else { nil }
  }
}
