// Input sources, records and rows.

import OpClusterOneLiners
import Testing

/// The rows of sources of values, each joined by `|`.
private func rows(
  _ words: [String], _ settings: RowSettings = RowSettings()
) throws -> [String] {
  let rows = try ArgumentRows(OneLiner(words).sources.map(reader), settings)
  var all: [String] = []
  while let row = try rows.next() { all.append(row.joined(separator: "|")) }
  return all
}

private func reader(_ source: InputSource) -> (read: RecordReader, isLinked: Bool) {
  guard case .values(let values) = source.origin else { return ({ nil }, false) }
  var rest = values[...]
  return ({ rest.popFirst() }, source.isLinked)
}

@Suite struct InputTests {
  @Test func sources() {
    let line = OneLiner([
      "echo", "{}", ":::", "a", "b", ":::+", "1", "::::", "f", "-", "::::+", "g",
    ])
    #expect(line.command == ["echo", "{}"])
    #expect(
      line.sources == [
        InputSource(.values(["a", "b"])), InputSource(.values(["1"]), isLinked: true),
        InputSource(.file("f")), InputSource(.file("-")), InputSource(.file("g"), isLinked: true),
      ])
    #expect(line.standardInputs == 1)
    #expect(OneLiner(["echo"]).sources == [InputSource(.file("-"))])
    #expect(OneLiner(["echo"], files: ["x"]).sources == [InputSource(.file("x"))])
    #expect(
      OneLiner(["a", ",,", "b", ":::"], separator: ",,").sources
        == [InputSource(.values(["b", ":::"]))])
    #expect(OneLiner([":::", "ls"]).command == [])
  }

  @Test func shortOptionsTogether() {
    #expect(
      OptionCluster.separated(["-kj4", "--tag", "grep", "-kj4"])
        == ["-k", "-j4", "--tag", "grep", "-kj4"])
    #expect(
      OptionCluster.separated(["-kj", "4", "-X", "ls", "-0"]) == [
        "-k", "-j", "4", "-X", "ls", "-0",
      ])
    #expect(
      OptionCluster.separated(["--halt", "-1", "-k0", "x"]) == ["--halt", "-1", "-k", "-0", "x"])
    #expect(OptionCluster.separated(["-kS", "one", "-k0"]) == ["-kS", "one", "-k0"])
    #expect(OptionCluster.separated(["-I,,", "-k", "-"]) == ["-I,,", "-k", "-"])
    #expect(OptionCluster.separated([]) == [])
  }

  @Test func combinations() throws {
    #expect(try rows([":::", "a", "b", ":::", "1", "2"]) == ["a|1", "a|2", "b|1", "b|2"])
    #expect(
      try rows([":::", "a", "b", ":::+", "1", "2", ":::", "X", "Y"])
        == ["a|1|X", "a|1|Y", "b|2|X", "b|2|Y"])
    // The shortest ends linked sources,
    #expect(try rows([":::", "a", "b", "c", ":::+", "1", "2"]) == ["a|1", "b|2"])
    // and with --link the longest.
    var settings = RowSettings()
    settings.linksAll = true
    #expect(try rows([":::", "a", "b", "c", ":::", "1", "2"], settings) == ["a|1", "b|2", "c|1"])
    #expect(try rows([":::", "a", ":::"]) == [])
    #expect(try rows([":::", ":::", "a"]) == [])
    #expect(try rows([":::", "a", "b", ":::", "c", ":::", "d", "e"]).count == 4)
  }

  @Test func columns() throws {
    var settings = RowSettings()
    settings.columnSeparator = ","
    #expect(try rows([":::", "a,b", "c,,d", "e"], settings) == ["a|b", "c||d", "e"])
    settings.columnSeparator = "\\s+"
    #expect(try rows([":::", "a  b c"], settings) == ["a|b|c"])
    settings.columnSeparator = "("
    #expect(throws: InputProblem.self) { try rows([":::", "a"], settings) }
  }

  @Test func headersAndEnds() throws {
    var settings = RowSettings()
    settings.hasHeader = true
    settings.columnSeparator = ","
    let all = try ArgumentRows(OneLiner([":::", "x,y", "1,2"]).sources.map(reader), settings)
    #expect(all.names == ["x", "y"])
    #expect(try all.next() == ["1", "2"])
    settings = RowSettings()
    settings.end = "stop"
    settings.skipsEmpty = true
    settings.trims = "lr"
    #expect(try rows([":::", " a ", "", " ", "b", "stop", "c"], settings) == ["a", "b"])
  }

  @Test(arguments: 1...5)
  func records(size: Int) throws {
    var splitter = RecordSplitter(limit: 100)
    var found: [String] = []
    let bytes = Array("\n\na\r\nbc ü\nend".utf8)
    for start in stride(from: 0, to: bytes.count, by: size) {
      splitter.take(bytes[start..<min(start + size, bytes.count)])
      while let record = try splitter.next() { found.append(record) }
    }
    splitter.take([], isEnd: true)
    while let record = try splitter.next() { found.append(record) }
    #expect(found == ["", "", "a\r", "bc ü", "end"])
  }

  @Test func badRecords() throws {
    var long = RecordSplitter(limit: 4)
    long.take(Array("abcd\nabcde".utf8))
    #expect(try long.next() == "abcd")
    #expect(throws: InputProblem.self) { try long.next() }
    var bytes = RecordSplitter(delimiter: 0, limit: 4)
    bytes.take([0x61, 0x0a, 0, 0xff, 0])
    #expect(try bytes.next() == "a\n")
    #expect(throws: InputProblem.self) { try bytes.next() }
  }

  /// What stands around a value counts, since -X repeats it.
  @Test func costsOfRows() {
    let composer = JobComposer(["rm", "pict{}.jpg"], repetition: .words)
    #expect(composer.rowCost == RowCost(times: 1, around: 8))
    var batches = JobBatches(
      .fitting(bytes: 200, rows: 1_000, places: 1), cost: composer.rowCost)
    var jobs = (1...99).compactMap { batches.take(["\($0)"]) }
    jobs += batches.finish()
    #expect(jobs.count > 4)
    #expect(jobs.allSatisfy { composer.job($0).text.utf8.count <= 203 })
  }

  @Test func batches() {
    func jobs(_ size: JobBatches.Size, _ count: Int) -> [[String]] {
      var batches = JobBatches(size)
      var jobs: [JobArguments] = []
      for number in 0..<count { if let job = batches.take(["\(number)"]) { jobs.append(job) } }
      jobs += batches.finish()
      #expect(jobs.map(\.sequence) == Array(1...max(1, jobs.count)).prefix(jobs.count).map { $0 })
      return jobs.map(\.flat)
    }
    #expect(jobs(.rows(1), 2) == [["0"], ["1"]])
    #expect(jobs(.rows(2), 3) == [["0", "1"], ["2"]])
    #expect(jobs(.rows(0), 2) == [[], []])
    #expect(jobs(.fitting(bytes: 100, rows: 100, places: 2), 5) == [["0", "1", "2"], ["3", "4"]])
    #expect(jobs(.fitting(bytes: 4, rows: 100, places: 1), 5) == [["0", "1"], ["2", "3"], ["4"]])
    #expect(jobs(.fitting(bytes: 100, rows: 2, places: 1), 3) == [["0", "1"], ["2"]])
  }
}
