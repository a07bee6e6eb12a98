// `opbatch top` without a terminal: keys, state, frames.

import OpClusterModel
import Testing

@testable import OpClusterPresentation

@Suite struct TopTests {
  private static func worker(
    _ number: UInt32, executing: UInt32, state: WorkerRow.State = .connected
  ) -> WorkerRow {
    let capacity = Resources(
      cpus: ResourceAmount(tenThousandths: 80_000), memoryBytes: 64 << 30)
    let free = Resources(
      cpus: ResourceAmount(tenThousandths: 80_000 - Int64(executing) * 10_000),
      memoryBytes: 60 << 30)
    return WorkerRow(
      worker: WorkerID(number), name: "node-\(number)", state: state, capacity: capacity,
      free: free, executing: executing, held: 0, labels: [], types: [], lastHeard: .seconds(1))
  }

  private static func running(_ element: UInt32, since seconds: Int64) -> OperationRow {
    var row = OperationRow(
      id: OperationID(graph: GraphID(12), index: element), name: "align", index: element,
      state: .executing)
    row.startedAt = Sample.later(seconds: seconds)
    row.workerName = "node-\(element % 3)"
    row.queue = "gpu"
    row.progress = .init(fraction: 0.5, text: "half")
    return row
  }

  private static let figures = TopFigures(
    workers: (0..<30).map { worker($0, executing: $0 % 9, state: $0 == 7 ? .down : .connected) },
    queues: [
      QueueRow(
        queue: QueueID(1), settings: QueueSettings(name: "default"), operationCount: 10,
        executing: 4, dispatched: 1, barriers: 0),
      QueueRow(
        queue: QueueID(2),
        settings: QueueSettings(name: "gpu", maximumConcurrent: 2, isSuspended: true),
        operationCount: 90, executing: 0, dispatched: 0, barriers: 0),
    ],
    graphs: [
      Sample.row(12, counts: Sample.counts([.executing: 40, .succeeded: 7, .waiting: 100])),
      Sample.row(13, "b", .suspended, counts: Sample.counts([.waiting: 5, .failed: 1])),
    ],
    running: (0..<40).map { running($0, since: 60 - Int64($0)) }, rate: 12.4)

  private static func screen(
    _ state: TopState, width: Int = 80, height: Int = 24, unicode: Bool = true
  ) -> TopScreen {
    TopScreen(figures, state, height: height, Sample.style(width, unicode: unicode))
  }

  @Test func keys() {
    #expect(
      TopKey.keys(of: Array("q\u{1b}[A\u{1b}OB\u{1b}[5~\u{1b}[6~\t\r\u{7f}\u{1b}".utf8)) == [
        .character("q"), .up, .down, .pageUp, .pageDown, .tab, .enter, .backspace, .escape,
      ])
    #expect(TopKey.keys(of: Array("ä€😀".utf8)) == [
      .character("ä"), .character("€"), .character("😀"),
    ])
    #expect(TopKey.keys(of: Array("\u{1b}[1;5C\u{1b}[3~x".utf8)) == [.character("x")])
    // Whatever comes, nothing stops.
    var state: UInt32 = 1
    for _ in 0..<2_000 {
      let bytes = (0..<8).map { _ -> UInt8 in
        state = state &* 1_664_525 &+ 1_013_904_223
        return UInt8(state >> 24)
      }
      #expect(TopKey.keys(of: bytes).count <= 8)
    }
  }

  @Test func moves() {
    var state = TopState()
    let subjects = Self.screen(state).subjects
    #expect(subjects.count == 40)
    guard case .operation(_, "12/align/39") = subjects[0] else {
      Issue.record("the longest running is \(subjects[0])")
      return
    }
    #expect(state.press(.up, subjects) == nil && state.selected == 0)
    for _ in 0..<100 { _ = state.press(.down, subjects) }
    #expect(state.selected == 39)
    _ = state.press(.pageUp, subjects)
    #expect(state.selected == 29)
    // The list has become shorter.
    _ = state.press(.down, Array(subjects.prefix(3)))
    #expect(state.selected == 2)
    #expect(state.press(.down, []) == nil && state.press(.enter, []) == nil)
    #expect(state.press(.character("s"), subjects) == nil && state.isByName)
    #expect(state.press(.character("q"), subjects) == .quit)
  }

  @Test func asksBeforeItCancels() {
    var state = TopState()
    let subjects = Self.screen(state).subjects
    for answer in [TopKey.character("n"), .enter, .escape, .character("q"), .character("c")] {
      #expect(state.press(.character("c"), subjects) == nil)
      #expect(Self.screen(state).lines.last == "cancel 12/align/39? y/n")
      #expect(state.press(answer, subjects) == nil && state.question == nil)
    }
    _ = state.press(.character("c"), subjects)
    #expect(state.press(.character("y"), subjects) == .cancel(subjects[0]))
  }

  /// What was asked about is what is done, whatever the list is by then.
  @Test func theAnswerIsForWhatWasAsked() {
    var state = TopState()
    let subjects = Self.screen(state).subjects
    _ = state.press(.character("c"), subjects)
    #expect(state.press(.character("y"), subjects.reversed()) == .cancel(subjects[0]))
  }

  /// Lines move from one look to the next; the selected one is followed.
  @Test func theLineIsFollowed() {
    var state = TopState()
    var subjects = Self.screen(state).subjects
    _ = state.press(.down, subjects)
    let chosen = subjects[1]
    subjects.insert(.operation(OperationID(graph: GraphID(99), index: 0), shown: "99/a"), at: 0)
    state.follow(subjects)
    #expect(state.selected == 2)
    #expect(state.press(.enter, subjects) == .open(chosen))
    subjects.remove(at: 2)
    state.follow(subjects)
    #expect(state.selected == 2, "it has gone: the next one is in its place")
    state.follow([])
    #expect(state.selected == 0 && state.press(.character("c"), []) == nil)
  }

  @Test func suspends() {
    var state = TopState()
    _ = state.press(.character("2"), [])
    var subjects = Self.screen(state).subjects
    #expect(subjects.map(\.words) == ["graph 13 (b)", "graph 12 (rnaseq)"])
    #expect(state.press(.character("p"), subjects) == .suspend(subjects[0], false))
    _ = state.press(.down, subjects)
    #expect(state.press(.character("p"), subjects) == .suspend(subjects[1], true))
    _ = state.press(.tab, subjects)
    subjects = Self.screen(state).subjects
    #expect(state.press(.character("p"), subjects) == .suspend(subjects[0], false))
    #expect(state.press(.character("c"), subjects) == nil && state.question == nil)
    #expect(Self.screen(state).lines.last == "operations and graphs can be cancelled")
    _ = state.press(.tab, subjects)
    #expect(state.press(.character("p"), Self.screen(state).subjects) == nil)
    _ = state.press(.tab, [])
    #expect(state.list == .operations)
  }

  @Test func filters() {
    var state = TopState()
    _ = state.press(.character("/"), [])
    for key in TopKey.keys(of: Array("ALIGN/1q".utf8)) { #expect(state.press(key, []) == nil) }
    _ = state.press(.backspace, [])
    _ = state.press(.enter, [])
    let screen = Self.screen(state)
    #expect(screen.subjects.count == 11, "1 and 10 to 19")
    #expect(screen.lines.contains { $0.hasSuffix("/ALIGN/1") })
    _ = state.press(.escape, screen.subjects)
    #expect(Self.screen(state).subjects.count == 40)
    for _ in 0..<300 { _ = state.press(.character("x"), []) }
    _ = state.press(.character("/"), [])
    for _ in 0..<300 { _ = state.press(.character("x"), []) }
    #expect(state.filter.count == 100)
    #expect(Self.screen(state).lines.contains { $0.contains("nothing") })
  }

  @Test func pages() {
    var state = TopState()
    let subjects = Self.screen(state).subjects
    #expect(state.press(.enter, subjects) == .open(subjects[0]))
    state.show(page: (0..<50).map { "line \($0)" })
    #expect(Self.screen(state).lines.contains("line 0"))
    for _ in 0..<200 { _ = state.press(.down, subjects) }
    #expect(Self.screen(state).lines.contains("line 49"))
    // Keys of lists mean nothing here.
    #expect(state.press(.character("c"), subjects) == nil && state.question == nil)
    _ = state.press(.escape, subjects)
    #expect(state.page == nil)
    state.show(page: [])
    _ = state.press(.pageDown, subjects)
    #expect(Self.screen(state).lines.count == 24)
  }

  @Test(arguments: [20, 40, 60, 80, 200], TopState.List.allCases)
  func frames(width: Int, list: TopState.List) {
    var state = TopState()
    while state.list != list { _ = state.press(.tab, []) }
    for height in [3, 10, 20, 24, 60] {
      for unicode in [false, true] {
        let screen = Self.screen(state, width: width, height: height, unicode: unicode)
        #expect(screen.lines.count == max(10, height))
        #expect(screen.lines.allSatisfy { displayWidth($0) <= width }, "\(screen.lines)")
      }
    }
    let lines = Self.screen(state, width: 80).lines
    #expect(lines[0].contains("12/s ended") && lines[0].contains("1 failed"))
    #expect(lines.contains { $0.hasPrefix(">") })
    if list != .workers {
      #expect(lines[1].hasPrefix("node-7") && lines[1].contains("down"), "trouble comes first")
      #expect(lines.contains { $0.contains("more worker") })
    }
  }

  @Test func anEmptyCluster() {
    let figures = TopFigures(workers: [], queues: [], graphs: [], running: [])
    let screen = TopScreen(figures, TopState(), height: 24, Sample.style(80))
    #expect(screen.lines.count == 24 && screen.subjects.isEmpty)
    #expect(screen.lines[0].contains("0 running"))
  }
}
