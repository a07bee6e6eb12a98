// A graph that runs for real while daemons are killed, and the checker that reads afterwards what
// the operations wrote themselves and what the coordinator told: was the order legal, did each run
// once? Used by the trace tests and the soak.

import FoundationEssentials
import OpClusterClient
import OpClusterManifest
import OpClusterModel
import OpClusterWire
import RealCluster
import Testing

/// One run of a submission whose operations write `NAME+` and `NAME-`.
struct Replay {
  let scene: Scene
  let submission: GraphSubmission
  let members: Members
  /// Workers that were killed meanwhile.
  var killed: Set<String> = []

  /// What each operation of a replay writes at its start and at its good end.
  static let frame = """
    note "$OP_NAME+"
    trap '[ $? = 0 ] && note "$OP_NAME-"' EXIT

    """

  init(_ submission: GraphSubmission, in scene: Scene) async throws {
    self.scene = scene
    self.submission = submission
    members = try await scene.submit(submission)
  }

  /// Imports a recorded run of another system.
  ///
  /// - Parameter timeScale: what a second of the record takes, in seconds.
  init(trace bytes: [UInt8], timeScale: Double, in scene: Scene) async throws {
    let yaml = try WfFormatImport(timeScale: timeScale, sizeScale: 0.0001, maximumFileBytes: 1_024)
      .manifest(of: bytes)
    let compiler = ManifestCompiler(
      source: yaml, fileName: "trace.yaml", surroundings: Surroundings(baseFolder: scene.folder))
    let frame = scene.preamble + Self.frame
    let encoders = PayloadEncoders { specification in
      var specification = specification
      if case .shell(let interpreter, let text) = specification.form {
        let framed = CommandText(segments: [.literal(frame)] + text.segments)
        specification.form = .shell(interpreter: interpreter, text: framed)
      }
      return Wire.encode(command: specification)
    } callInput: {
      Wire.encode(callInput: $0)
    } blocks: {
      Wire.encode(blocks: $0)
    } blockElement: {
      Wire.encode(blockElement: $0)
    }
    let result = compiler.compile(encoders: encoders)
    let submission = try #require(result.submission, "\(result.diagnostics)")
    try await self.init(submission, in: scene)
  }

  var lines: [TraceLine] { scene.lines }

  /// Operations that have ended well, by their own word.
  var endedCount: Int { Set(scene.trace.filter { $0.hasSuffix("-") }).count }

  /// Waits until so many have ended.
  func ended(_ count: Int) async throws {
    try await eventually("\(count) have ended", within: .seconds(300)) { endedCount >= count }
  }

  /// Kills a worker, for good.
  mutating func kill(_ worker: String) async throws {
    killed.insert(worker)
    try await scene.cluster.kill(worker)
  }

  /// Kills the coordinator and starts it again; no operation may notice.
  func killCoordinator() async throws {
    try await scene.cluster.kill("opcoord")
    try await scene.cluster.startCoordinator()
  }

  /// Waits for the end of the graph and judges what happened.
  func check() async throws {
    try await eventually("the graph ends", within: .seconds(300)) {
      let row = try await scene.connection.graphs(.graph(members.graph)).first
      return row.map { ![.running, .suspended].contains($0.state) } ?? false
    }
    let rows = try await scene.connection.operations(.graph(members.graph))
    #expect(rows.count == submission.operationCount)
    #expect(rows.allSatisfy { $0.outcome == .succeeded })
    try await checkCounts(rows)
    checkOrderOfWitness()
    try await checkOrderOfEvents()
  }

  /// Each once; more often only what ran on a worker that was killed.
  private func checkCounts(_ rows: [OperationRow]) async throws {
    let begun = Dictionary(grouping: lines.filter { $0.what.hasSuffix("+") }) {
      String($0.what.dropLast())
    }
    let done = Dictionary(grouping: lines.filter { $0.what.hasSuffix("-") }) {
      String($0.what.dropLast())
    }
    for row in rows {
      let starts = begun[row.name] ?? []
      #expect(Set(starts.map(\.fence)).count == starts.count, "\(row.name): attempt ran twice")
      #expect(done[row.name]?.contains { $0.attempt == Int(row.attempt) } == true, "\(row.name)")
      if starts.count == 1 { continue }
      let detail = try await history(of: row)
      for earlier in detail.dropLast() {
        #expect(killed.contains(earlier.workerName), "\(row.name) ran again after \(earlier)")
      }
    }
    if killed.isEmpty {
      #expect(begun.values.allSatisfy { $0.count == 1 })
      #expect(done.values.allSatisfy { $0.count == 1 })
    }
  }

  private func history(of row: OperationRow) async throws -> [AttemptHistory] {
    var selection = Selection.graph(row.id.graph)
    selection.operation = row.name
    return try await scene.connection.operations(selection).first?.attempts ?? []
  }

  /// The names of both ends of each dependency.
  private var edges: [(from: String, to: String)] {
    submission.groupEdges.map { edge in
      (submission.templates[Int(edge.from)].name, submission.templates[Int(edge.to)].name)
    }
  }

  /// No operation began before each that it needs had ended well, by their own words.
  private func checkOrderOfWitness() {
    var (firstStart, firstEnd) = ([String: Int](), [String: Int]())
    for (place, line) in lines.enumerated() {
      let name = String(line.what.dropLast())
      if line.what.hasSuffix("+") {
        firstStart[name] = firstStart[name] ?? place
      } else {
        firstEnd[name] = firstEnd[name] ?? place
      }
    }
    for edge in edges {
      guard let end = firstEnd[edge.from], let start = firstStart[edge.to] else {
        Issue.record("\(edge) has no witness")
        continue
      }
      #expect(end < start, "\(edge.to) began before the end of \(edge.from)")
    }
  }

  /// The same as everybody was told it, and each flag changed once (S8, S9, S114).
  private func checkOrderOfEvents() async throws {
    var (starts, ends) = ([UInt32: UInt64](), [UInt32: UInt64]())
    for event in try await scene.connection.backlog(.graph(members.graph)) {
      guard case .operation(let id, _) = event.subject else { continue }
      switch event.kind {
      case .isExecuting(true):
        #expect(starts.updateValue(event.sequence, forKey: id.index) == nil, "\(id) twice")
      case .isFinished:
        #expect(ends.updateValue(event.sequence, forKey: id.index) == nil, "\(id) twice")
      default: break
      }
    }
    for edge in edges {
      let (from, to) = (members[edge.from].index, members[edge.to].index)
      guard let end = ends[from], let start = starts[to] else {
        Issue.record("\(edge) was not told")
        continue
      }
      #expect(end < start, "\(edge.to) was told to begin before the end of \(edge.from)")
    }
  }
}
