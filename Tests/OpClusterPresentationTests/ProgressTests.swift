// The live view: counts moved by events, lines at the right moments, frames replaced in place.

import Citations
import MessageGenerators
import OpClusterModel
import OpClusterPresentation
import Testing

struct ProgressTests {
  private static func event(
    _ sequence: UInt64, _ index: UInt32, _ kind: Event.Kind, graph: UInt32 = 12,
    count: UInt32 = 1
  ) -> EventRun {
    let id = OperationID(graph: GraphID(graph), index: index)
    return EventRun(
      first: Event(
        sequence: sequence, commit: CommitIndex(1), time: Sample.start,
        subject: .operation(id, sequence: 1), kind: kind),
      count: count)
  }

  /// A run moves the counts as its events do, one after the other, also where the snapshot contains
  /// a part of it, and where it belongs to several stages or goes beyond them.
  @Test(.checks("S116"), arguments: 0..<50 as Range<UInt64>)
  func runsAreTheirEvents(seed: UInt64) {
    var generator = MessageGenerator(seed: seed)
    func below(_ bound: Int) -> UInt32 { UInt32(generator.below(bound)) }
    let stages = [
      Sample.stage("a", 10, first: 0, [.ready: 4, .dispatched: 3, .waiting: 3]),
      Sample.stage("none", 0, first: 10, [:]),
      Sample.stage("b", 90, first: 10, [.waiting: 90]),
    ]
    var structure = Sample.structure(stages)
    structure.lastEvent = 7
    var (whole, single) = (GraphProgress(structure), GraphProgress(structure))
    var (map, mapOfSingles) = (ElementStates(structure), ElementStates(structure))
    let kinds: [Event.Kind] = [
      .isReady(true), .isReady(false), .isExecuting(true), .isExecuting(false),
      .isFinished(.succeeded), .isFinished(.failed), .completion,
    ]
    var sequence: UInt64 = 1
    for _ in 0..<40 {
      let run = Self.event(
        sequence, below(120), kinds[Int(below(kinds.count))],
        graph: below(10) == 0 ? 11 : 12, count: below(30) + 1)
      sequence += UInt64(run.count) - (below(5) == 0 ? 1 : 0)
      var hasChanged = false
      run.forEach { event in
        let one = EventRun(first: event, count: 1)
        if single.apply(one) { hasChanged = true }
        if run.graph == structure.row.graph { mapOfSingles.apply(one) }
      }
      let isChanged = whole.apply(run)
      if run.graph == structure.row.graph { map.apply(run) }
      #expect(isChanged == hasChanged && whole.lastEvent == single.lastEvent)
      let style = Sample.style(nil)
      #expect(
        StageTable.frame(whole, height: 9, style) == StageTable.frame(single, height: 9, style))
      for index in 0..<map.count { #expect(map.state(of: index) == mapOfSingles.state(of: index)) }
    }
  }

  /// What the snapshot contains is not counted again.
  @Test(.checks("S116")) func eventsMoveTheCountsOnce() {
    var structure = Sample.rnaseq
    structure.lastEvent = 10
    var progress = GraphProgress(structure)
    #expect(progress.finished == 424 && progress.executing == 12)
    let changes = [
      Self.event(10, 2, .isFinished(.succeeded)), Self.event(11, 2, .isExecuting(false)),
      Self.event(12, 2, .isFinished(.timedOut)), Self.event(12, 2, .isFinished(.timedOut)),
      Self.event(13, 2, .isFinished(.lost), graph: 11), Self.event(14, 9_999, .isFinished(.lost)),
    ].map { progress.apply($0) }
    #expect(changes == [false, true, true, false, false, false])
    #expect(progress.finished == 425 && progress.executing == 11 && progress.failures == 3)
    #expect(progress.stages[2].finished == 303 && progress.stages[2].count(.timedOut) == 1)
    #expect(progress.lastEvent == 14)
  }

  @Test func aWholeRunEndsWithEverythingCounted() {
    let stages = [Sample.stage("many", 1_000, first: 0, [.waiting: 1_000])]
    var progress = GraphProgress(Sample.structure(stages))
    var sequence: UInt64 = 0
    func next() -> UInt64 {
      sequence += 1
      return sequence
    }
    for index in 0..<UInt32(1_000) {
      progress.apply(Self.event(next(), index, .isReady(true)))
      progress.apply(Self.event(next(), index, .isExecuting(true)))
      progress.apply(Self.event(next(), index, .isExecuting(false)))
      progress.apply(Self.event(next(), index, .isFinished(index % 10 == 0 ? .failed : .succeeded)))
    }
    #expect(progress.finished == 1_000 && progress.executing == 0 && progress.failures == 100)
    #expect(progress.stages[0].unstarted == 0 && progress.outcome == nil)
    let end = Event(
      sequence: next(), commit: CommitIndex(2), time: Sample.later(seconds: 5),
      subject: .graph(GraphID(12)), kind: .graphFinished(.failed))
    let isChanged = progress.apply(EventRun(first: end, count: 1))
    #expect(isChanged)
    #expect(progress.outcome == .failed && progress.state == .failed)
    #expect(progress.finishedAt == Sample.later(seconds: 5))
  }

  @Test func eventsThatContradictTheSnapshotNeverTrap() {
    var progress = GraphProgress(Sample.diamond)
    for sequence in 1...50 as ClosedRange<UInt64> {
      let kinds: [Event.Kind] = [.isExecuting(false), .isReady(false), .isFinished(.lost)]
      progress.apply(Self.event(sequence, 0, kinds[Int(sequence) % 3]))
    }
    #expect(progress.executing == 1 && progress.stages[0].unstarted == 0)
    #expect(!StageTable.frame(progress, height: 10, Sample.style(60)).isEmpty)
  }

  @Test func plainLinesComeAtTenthsAndAfterSilence() {
    let style = Sample.style(nil)
    let stages = [Sample.stage("many", 100, first: 0, [.waiting: 100])]
    var progress = GraphProgress(Sample.structure(stages))
    var plain = PlainProgress()
    var lines: [String] = []
    func look(at seconds: Int64) {
      if let line = plain.line(progress, at: .zero + .seconds(seconds), style) {
        lines.append(line)
      }
    }
    look(at: 0)
    for index in 0..<UInt32(25) {
      progress.apply(Self.event(UInt64(index + 1), index, .isFinished(.succeeded)))
      look(at: 1)
    }
    #expect(lines.count == 3)
    look(at: 30)
    look(at: 31)
    look(at: 60)
    look(at: 61)
    #expect(lines.count == 5)
    #expect(lines[0] == "12 rnaseq: running, 0 of 100 done, 1m 23s")
    #expect(lines[2] == "12 rnaseq: running, 20 of 100 done, 1m 23s")
    let end = Event(
      sequence: 99, commit: CommitIndex(2), time: Sample.later(seconds: 5),
      subject: .graph(GraphID(12)), kind: .graphFinished(.cancelled))
    progress.apply(EventRun(first: end, count: 1))
    look(at: 62)
    look(at: 99)
    #expect(lines.count == 6)
    #expect(lines[5] == "12 rnaseq: cancelled, 25 of 100 done, 5.0s")
  }

  @Test func framesReplaceEachOther() {
    var redraw = Redraw()
    let texts = [
      redraw.clear(width: 40), redraw.repaint(["one", "two"], width: 40),
      redraw.repaint(["three"], width: 40),
      // The terminal became narrower: five columns take three lines of two.
      redraw.repaint(["x"], width: 2), redraw.clear(width: 40),
      redraw.repaint(["\u{1b}[32mabc\u{1b}[0m"], width: 40),
      // Colour takes no columns.
      redraw.clear(width: 3),
    ]
    #expect(
      texts == [
        "", "one\u{1b}[K\ntwo\u{1b}[K\n\u{1b}[J", "\r\u{1b}[2Athree\u{1b}[K\n\u{1b}[J",
        "\r\u{1b}[3Ax\u{1b}[K\n\u{1b}[J", "\r\u{1b}[1A\u{1b}[J",
        "\u{1b}[32mabc\u{1b}[0m\u{1b}[K\n\u{1b}[J", "\r\u{1b}[1A\u{1b}[J",
      ])
  }

  @Test(arguments: 1...30) func aFrameKeepsToItsHeight(_ height: Int) {
    let stages = (0..<20).map { at in
      Sample.stage("s\(at)", 1, first: UInt32(at), [at % 3 == 0 ? .executing : .waiting: 1])
    }
    let progress = GraphProgress(Sample.structure(stages))
    let lines = StageTable.frame(progress, height: height, Sample.style(80))
    #expect(lines.count <= max(height, 3))
    #expect(height >= 21 ? lines.count == 21 : lines.last?.contains("more stages") == true)
  }

  /// A bar shows everything that is there and is never longer than its place.
  @Test func barsAreFull() {
    let cases: [[StateWord: UInt32]] = [
      [.succeeded: 1, .failed: 1, .executing: 1, .waiting: 99_997],
      [.succeeded: 99_997, .failed: 1, .executing: 1, .waiting: 1], [.succeeded: 100_000],
      [.skipped: 100_000], [.executing: 100_000],
    ]
    for counts in cases {
      let stage = Sample.stage("s", 100_000, first: 0, counts)
      let frame = StageTable.frame(
        GraphProgress(Sample.structure([stage])), height: 5, Sample.style(100))
      let bar = frame[1].filter { "█▒▓·".contains($0) }
      #expect(bar.count == 24)
      #expect(bar.contains("█") == (counts[.succeeded] != nil))
      #expect(bar.contains("▒") == (counts[.failed] != nil || counts[.skipped] != nil))
      #expect(bar.contains("▓") == (counts[.executing] != nil))
    }
  }
}
