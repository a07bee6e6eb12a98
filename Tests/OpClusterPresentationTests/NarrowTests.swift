// Sixty columns: the numbers stay whole, the names are shortened.

import OpClusterModel
import OpClusterPresentation
import Testing

struct NarrowTests {
  private static let name = "align_all_reads_to_the_reference_genome_of_choice"
  private let style = Sample.style(60)
  private let structure = Sample.structure([
    Sample.stage(
      name, 12_345, first: 0,
      [.succeeded: 12_000, .failed: 2, .executing: 8, .dispatched: 35, .waiting: 300]),
    Sample.stage("merge", 1, first: 12_345, [.waiting: 1]),
  ])

  @Test func elementsKeepTheirNumbers() {
    var row = Sample.failed
    row.name = Self.name
    row.index = 12_345
    let lines = operationTable([row], style).lines(style)
    #expect(lines[1].contains("…/12345 "), "\(lines[1])")
    #expect(lines[1].contains("exit status 2"), "\(lines[1])")
  }

  @Test func stagesKeepTheirNumbers() {
    let page = graphPage(structure, style)
    let stage = page.first { $0.contains("[12,345]") } ?? ""
    #expect(stage.contains("12,002/12,345"), "\(page)")
    for part in ["2 failed", "8 executing", "35 dispatched", "300 waiting"] {
      #expect(page.joined(separator: "\n").contains(part), "\(page)")
    }
    #expect(!page.contains { $0.contains("12,000 succeeded") && $0.contains("align") })
    for line in page { #expect(displayWidth(line) <= 60, "\(line)") }
  }

  @Test func theLiveTableKeepsItsNumbers() {
    var long = structure
    long.row.name = String(repeating: "a-long-name-", count: 10)
    let frame = StageTable.frame(GraphProgress(long), height: 10, style)
    #expect(frame[0].contains("…  running  12,002/12,346  1m 23s"), "\(frame[0])")
    #expect(frame[1].contains("… [12,345]") || frame[1].contains("12,002/12,345"), "\(frame[1])")
    #expect(frame[1].contains("2 failed, 8 executing"), "\(frame[1])")
    for line in frame { #expect(displayWidth(line) <= 60) }
  }

  /// A sentence of a worker, unlike the end of a stderr, is wrapped and never cut.
  @Test func theWorkersOwnWordsAreWhole() {
    var row = Sample.failed
    var result = AttemptResult()
    result.cause = .cannotStart
    result.diagnostic =
      "the working directory \"/nowhere/that/is/on/this/machine\" cannot be entered (No such file "
      + "or directory); create it before the operation runs"
    row.result = result
    let page = failurePage(row, style)
    for line in page { #expect(displayWidth(line) <= 60, "\(line)") }
    let words = page.joined(separator: " ").split(separator: " ").filter { $0 != "│" }
    #expect(words.joined(separator: " ").contains(result.diagnostic), "\(page)")
    #expect(result.wordsOfWorker == result.diagnostic)
    #expect(Sample.failed.result?.wordsOfWorker == nil, "the end of a stderr is no reason")
  }

  /// What is with a worker and has not begun is called so in the live table, too.
  @Test func dispatchedIsDispatched() {
    let stage = Sample.stage("many", 10, first: 0, [.ready: 2, .dispatched: 3, .waiting: 5])
    var progress = GraphProgress(Sample.structure([stage]))
    func sentence() -> String { StageTable.frame(progress, height: 5, Sample.style(140))[1] }
    #expect(sentence().hasSuffix("3 dispatched, 2 ready, 5 waiting"), "\(sentence())")
    let id = OperationID(graph: GraphID(12), index: 0)
    let begins = Event(
      sequence: 1, commit: CommitIndex(1), time: Sample.start,
      subject: .operation(id, sequence: 1), kind: .isExecuting(true))
    progress.apply(EventRun(first: begins, count: 1))
    #expect(sentence().hasSuffix("1 executing, 2 dispatched, 2 ready, 5 waiting"), "\(sentence())")
  }
}
