// What people see, compared as whole texts, and what must hold for every one of them.

import Citations
import OpClusterModel
import OpClusterPresentation
import Testing

struct RenderingTests {
  @Test(arguments: Renderings.all.map(\.name)) func looksAsExpected(_ name: String) throws {
    let rendering = try #require(Renderings.all.first { $0.name == name })
    let expected = try #require(Expected.texts[name], "nothing is expected of '\(name)'")
    #expect(rendering.text == expected, "\(name) is\n\(rendering.text)")
  }

  @Test func nothingMoreIsExpected() {
    #expect(Set(Expected.texts.keys) == Set(Renderings.all.map(\.name)))
  }

  /// G38, and no blanks at the ends of lines.
  @Test(.checks("G38")) func noTextSteersTheTerminalOrEndsInBlanks() {
    for (name, text) in Renderings.all {
      for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
        #expect(!line.hasSuffix(" "), "\(name): '\(line)'")
        let orders = line.unicodeScalars.filter {
          $0.value < 0x20 || (0x7f..<0xa0).contains($0.value) || $0.value == 0x202e
        }
        #expect(orders.isEmpty || name == "colour", "\(name): \(line.debugDescription)")
      }
    }
  }

  /// Tables, frames and drawings keep to the width; prose that cannot be cut may not.
  @Test(arguments: [20, 30, 45, 60, 61, 80, 140]) func tablesFit(_ width: Int) {
    let style = Sample.style(width)
    let lines =
      graphTable([Sample.rnaseq.row], style).lines(style)
      + operationTable([Sample.failed], style).lines(style)
      + workerTable(ClusterSample.workers, style).lines(style)
      + queueTable(ClusterSample.queues, style).lines(style)
      + StageTable.frame(GraphProgress(Sample.rnaseq), height: 30, style)
      + GraphText.lines(Sample.rnaseq, style)
    for line in lines { #expect(displayWidth(line) <= width, "'\(line)'") }
  }

  @Test func withoutAWidthNothingIsCut() {
    var sick = ClusterSample.workers
    sick[0].unkillable = 2
    let sickLines = workerTable(sick, Sample.style(nil)).lines(Sample.style(nil))
    #expect(sickLines[1].contains("connected, 2 unkillable"))
    let lines = workerTable(ClusterSample.workers, Sample.style(nil)).lines(Sample.style(nil))
    #expect(lines[2].contains("a-node-with-a-very-long-name.example.org"))
    #expect(!lines.joined().contains("…"))
  }

  // Who submitted has a column where anybody is known, and only there.
  @Test func users() {
    func row(_ user: String?) -> GraphRow {
      GraphRow(
        graph: GraphID(7), name: "align", state: .running, counts: StateCounts(),
        submittedAt: .unknown, finishedAt: .unknown,
        labels: user.map { [Label(key: GraphSubmission.submitterLabel, value: $0)] } ?? [],
        allowedFailures: 0)
    }
    let style = Sample.style(nil)
    let lines = graphTable([row("anna"), row(nil)], style).lines(style)
    #expect(lines[0].contains("USER") && lines[1].contains("anna") && !lines[2].contains("anna"))
    #expect(!graphTable([row(nil)], style).lines(style)[0].contains("USER"))
  }

  // One that is down has a reason, and nothing to give.
  @Test func workersThatAreDown() {
    var row = ClusterSample.workers[1]
    row.state = .down
    let style = Sample.style(nil)
    let line = workerTable([row], style).lines(style)[1]
    #expect(line.contains("down") && !line.contains("/") && line.contains("6.0s ago"))
  }

  @Test func picturesAreWellFormed() throws {
    for structure in [Sample.rnaseq, Sample.diamond, Renderings.escaping] {
      let picture = try #require(GraphSVG.document(structure))
      #expect(WellFormedXML.problem(picture) == nil)
      for stage in structure.stages {
        #expect(picture.contains(">" + stageWord(stage) + "<"), "\(stage.name) has no state")
      }
    }
    #expect(WellFormedXML.problem("<a><b></a></b>") != nil)
    #expect(WellFormedXML.problem("<a b=\"1\" b=\"2\"/>") != nil)
    #expect(WellFormedXML.problem("<a>1 & 2</a>") != nil)
  }

  /// The words of a stage in a drawing, worked out in another way than there.
  private func stageWord(_ stage: GraphStructure.Stage) -> String {
    let words: [StateWord] = [.failed, .executing, .succeeded, .skipped, .waiting]
    let word = words.first { stage.counts[$0] > 0 && ($0 != .succeeded || stage.count == 1) }
    let state = word?.rawValue ?? "empty"
    if stage.count == 1 { return state }
    let done = "\(stage.counts.finished)/\(stage.count)"
    let number = stage.counts[word ?? .waiting]
    return number == stage.count ? "\(done) \(state)" : "\(done), \(number) \(state)"
  }

  @Test func aPictureHasABound() {
    func chain(_ count: Int) -> GraphStructure {
      Sample.structure(
        (0..<count).map { Sample.stage("s\($0)", 1, first: UInt32($0), [.waiting: 1]) },
        (1..<count).map { .init(from: UInt32($0 - 1), to: UInt32($0), policy: .succeeded) })
    }
    #expect(GraphSVG.document(chain(GraphSVG.maximumStages)) != nil)
    #expect(GraphSVG.document(chain(GraphSVG.maximumStages + 1)) == nil)
    #expect(GraphText.lines(chain(5_000), Sample.style(80)).count < 1_010)
  }

  @Test func malformedStructuresAreDrawnAsFarAsTheyGo() throws {
    var structure = Sample.diamond
    structure.groupEdges.append(GroupEdge(from: 9, to: 1, policy: .succeeded))
    structure.groupEdges.append(GroupEdge(from: 1, to: 1, policy: .succeeded))
    structure.elementEdges = ElementEdges(from: [0, 99, 1], to: [3, 1], policies: [])
    structure.elementEdgeCount = 40_000
    let lines = GraphText.lines(structure, Sample.style(80))
    #expect(lines.last == "drawn from 3 of 40,000 single dependencies")
    #expect(try WellFormedXML.problem(#require(GraphSVG.document(structure))) == nil)
    _ = try StrictJSON(GraphDocuments.json(structure))
  }

  @Test func eventLinesAreObjects() throws {
    for event in ClusterSample.events {
      var json = JSONText()
      json.event(event, names: SampleNames())
      let object = try StrictJSON(json.text)
      #expect(object["sequence"] == .number(Double(event.sequence)))
      #expect(object["kind"] != nil && object["value"] != nil && object["time"] != nil)
    }
    var json = JSONText()
    json.caughtUp()
    #expect(json.text == #"{"kind":"caught_up"}"#)
  }
}
