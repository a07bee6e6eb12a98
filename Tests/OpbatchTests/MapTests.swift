// `opbatch map`: its options, and what it keeps in mind, up to its bounds.

import ArgumentParser
import OpClusterModel
import OpClusterOneLiners
import Testing

@testable import opbatch

@Suite struct MapTests {
  private func parsed(_ words: [String]) throws -> Map {
    try #require(try Opbatch.parseAsRoot(arranged(["map"] + words)) as? Map)
  }

  /// Everything from the command on is the command's; an option that is not here begins it.
  @Test func optionsEndAtTheCommand() throws {
    let map = try parsed(["-kj4", "--halt", "-1", "grep", "-k", "{}", ":::", "a"])
    #expect(map.shown.keepOrder && map.jobs.jobs == "4" && map.jobs.halt == "-1")
    #expect(map.words == ["grep", "-k", "{}", ":::", "a"])
    #expect(try parsed(["--pipe", "wc"]).words == ["--pipe", "wc"])
    #expect(try parsed(["-N2", "--cpus", "2", "x"]).input.perJob == 2)
    #expect(throws: (any Error).self) { try parsed(["--help"]) }
  }

  @Test func sizes() throws {
    let most = Limits.oneLinersPerGraph
    #expect(try parsed(["-n", "\(most)", "x"]).input.batchSize(places: 1) == .rows(most))
    let beyond = try parsed(["-n", "\(most + 1)", "x"]).input
    #expect(throws: Failure.self) { try beyond.batchSize(places: 1) }
    #expect(Limits.oneLinersUnderWay >= 2 * most)
    // The arguments of one graph fit into a message, whatever their quotation adds.
    #expect(Limits.oneLinerBytesPerGraph * 3 < Limits.messageBytes)
  }

  /// Without a number, `-j 0` is what the workers can be asked for.
  @Test func places() throws {
    let map = try parsed(["-j0", "x"])
    var settings = try MapSettings(map, .unlimited)
    settings.limitJobs(to: .unlimited, MapCluster(processors: 4, workers: 2))
    #expect(settings.places == 2 * Limits.oneLinersAtOncePerWorker)
  }

  @Test func oneGraphOfManyJobs() throws {
    let settings = try MapSettings(try parsed(["--retries", "3", "-l", "a=b", "x"]), nil)
    let composer = JobComposer(["echo", "-n", "{}", "{#}"])
    let jobs = (1...3).map { composer.job(JobArguments(records: [["v w"]], sequence: $0 + 6)) }
    let graph = try settings.graphSubmission(jobs, limit: 2, after: JobTally())
    let template = try #require(graph.templates.first)
    #expect(template.count == 3 && template.indexRuns == [IndexRun(first: 7, count: 3)])
    #expect(template.retry.maximum == 2 && graph.labels.first == Label(key: "a", value: "b"))
    #expect(graph.queues == [.own(QueueSettings(name: "map", maximumConcurrent: 2))])
    // Only the number differs.
    #expect(
      (0..<3).map { template.elementArguments[$0] } == ["7", "8", "9"].map { Array($0.utf8) })
    let huge = String(repeating: "x", count: Limits.elementArgumentBytes + 1)
    let tooMuch = composer.job(JobArguments(records: [[huge]], sequence: 1))
    #expect(throws: Failure.self) {
      try settings.graphSubmission([tooMuch, jobs[0]], limit: nil, after: JobTally())
    }
  }

  @Test func linesOfAJobLog() {
    var lines = JobLogLines()
    #expect(lines.wholeLines(Array("a\nb".utf8)) == ["a"])
    #expect(lines.wholeLines(Array("c\nd".utf8)) == ["bc"])
    #expect(lines.whole == 5)
  }

  @Test func bar() {
    func line(_ done: Int, _ isTotal: Bool, width: Int) -> String {
      MapBar.progressLine(
        done: done, total: 10, isTotal: isTotal, failed: 1, elapsed: .seconds(5), width: width)
    }
    #expect(line(5, true, width: 80).hasSuffix("] 5 of 10, 1 failed, 5 s left"))
    #expect(line(5, false, width: 80).hasSuffix("] 5 of 10+, 1 failed, 5 s"))
    for width in [10, 20, 60] { #expect(line(5, true, width: width).utf8.count < width) }
  }
}
