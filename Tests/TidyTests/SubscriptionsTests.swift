// A subscription to one's own graphs knows those that are submitted after it. Where it is made in a
// task of its own, a busy machine runs that task after the submission, and what follows the events
// waits for ever.

import Testing

@Suite struct SubscriptionsTests {
  @Test func ownEventsBeginBeforeAnyTask() throws {
    var count = 0
    for file in try Tree.swiftFiles() where file.isSource && !file.path.contains("/Generated/") {
      for (at, line) in file.lines.enumerated() where line.contains("includesOwn: true") {
        count += 1
        for opener in Self.openers(of: at, in: file.lines) where Self.beginsTask(opener) {
          Issue.record("\(file.path):\(at + 1) subscribes in a task: \(opener)")
        }
      }
    }
    #expect(count >= 2)
  }

  @Test func aSubscriptionInATaskIsSeen() {
    let lines = [
      "func listen() {", "  Task { [inbox] in", "    let own = Wish(", "      includesOwn: true)",
      "  }", "}",
    ]
    #expect(Self.openers(of: 3, in: lines).contains(where: Self.beginsTask))
    let before = ["func listen() {", "  let own = Wish(includesOwn: true)", "  Task {", "  }", "}"]
    #expect(!Self.openers(of: 1, in: before).contains(where: Self.beginsTask))
  }

  private static func beginsTask(_ line: String) -> Bool {
    ["Task {", "Task.detached", "addTask"].contains { line.contains($0) }
  }

  /// The lines that a line stands in: each less indented than the one after it.
  private static func openers(of at: Int, in lines: [String]) -> [String] {
    var found: [String] = []
    var indent = lines[at].prefix { $0 == " " }.count
    for line in lines[..<at].reversed() where !line.isEmpty {
      let own = line.prefix { $0 == " " }.count
      guard own < indent else { continue }
      indent = own
      found.append(line)
    }
    return found
  }
}
