// Finds the operations of a submission that no present worker could ever run, and why, before
// anybody waits for them. The first half is pure. Nothing here refuses anything: a worker that can
// run it may come later (S61), so that a finding is a warning. `Obstacles` in OpClusterScheduling
// says the same of operations that have been submitted.

import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import OpClusterReading

/// Compares the demands of operations with the workers.
enum Placement {
  /// Maximum number of different demands that are compared; submissions have few.
  private static let wishesCompared = 200
  private static let sentencesShown = 5

  /// The demand of operations of one kind.
  private struct Wish: Hashable {
    var work: Work
    var demand: Resources
    var requirements: [LabelRequirement]
  }

  /// Returns a sentence for each kind of operation that no worker could run. Costs templates, and
  /// kinds times workers. Templates of the same wish are compared once.
  static func objections(_ submission: GraphSubmission, _ workers: [WorkerRow]) -> [String] {
    var wishes: [Wish] = []
    var names: [Wish: (first: String, more: Int)] = [:]
    for template in submission.templates where template.count > 0 && template.work != .nothing {
      let wish = Wish(
        work: template.work, demand: template.demand,
        requirements: template.requirements + pool(of: template, submission))
      if names[wish] != nil {
        names[wish]?.more += 1
      } else if wishes.count < wishesCompared {
        wishes.append(wish)
        names[wish] = (template.name, 0)
      }
    }
    if wishes.isEmpty { return [] }
    // One sentence for all: each kind would say the same.
    guard !workers.isEmpty else {
      return ["no worker is there; everything waits until one comes"]
    }
    var sentences: [String] = []
    for wish in wishes {
      guard let lack = lack(wish, workers), let named = names[wish] else { continue }
      let who = "'\(named.first)'" + (named.more > 0 ? " and \(shownCount(named.more)) more" : "")
      sentences.append("no worker that is there can run \(who): \(lack); it waits for one that can")
    }
    let hidden = sentences.count - sentencesShown
    if hidden > 0 {
      sentences = sentences.prefix(sentencesShown) + ["… and \(shownCount(hidden)) more like these"]
    }
    return sentences
  }

  /// The labels that a queue of the graph requires. Queues of the cluster are unknown here.
  private static func pool(
    of template: OperationTemplate, _ submission: GraphSubmission
  ) -> [LabelRequirement] {
    guard submission.queues.indices.contains(Int(template.queue)),
      case .own(let settings) = submission.queues[Int(template.queue)]
    else { return [] }
    return settings.pool
  }

  /// Returns why no worker can run the operation; nil if one can.
  private static func lack(_ wish: Wish, _ workers: [WorkerRow]) -> String? {
    let types: [OperationType] =
      switch wish.work {
      case .call(let type): [type]
      case .blocks(let types): types
      case .command, .nothing: []
      }
    func isServed(_ type: OperationType, by row: WorkerRow) -> Bool {
      row.types.contains { type.isServed(by: $0) }
    }
    let isRunnable = workers.contains { row in
      row.capacity.covers(wish.demand) && wish.requirements.allSatisfy { $0.isMet(by: row.labels) }
        && types.allSatisfy { isServed($0, by: row) }
    }
    // The rest is for the sentence: first what nobody has at all, then what nobody has enough of.
    // Several workers may each have a part.
    if isRunnable { return nil }
    for type in types where !workers.contains(where: { isServed(type, by: $0) }) {
      return "none has the operation type '\(type.name)' version \(type.version)"
    }
    for requirement in wish.requirements
    where !workers.contains(where: { requirement.isMet(by: $0.labels) }) {
      return "none has the label \(requirement.key)=\(requirement.values.joined(separator: " or "))"
    }
    return amountLacking(wish.demand, workers)
      ?? "none has all at once of what it asks for: \(wanted(wish.demand))"
  }

  /// Returns the first amount that exceeds even the largest worker.
  private static func amountLacking(_ demand: Resources, _ workers: [WorkerRow]) -> String? {
    func sentence(_ asked: String, _ most: String) -> String {
      "it asks for \(asked), and the largest worker has \(most)"
    }
    let cpus = workers.map(\.capacity.cpus).max() ?? .zero
    if demand.cpus > cpus {
      return sentence("\(shownAmount(demand.cpus)) cpus", shownAmount(cpus))
    }
    let memory = workers.map(\.capacity.memoryBytes).max() ?? 0
    if demand.memoryBytes > memory {
      return sentence("\(shownSize(demand.memoryBytes)) of memory", shownSize(memory))
    }
    let gpus = workers.map(\.capacity.gpus).max() ?? .zero
    if demand.gpus > gpus {
      return sentence("\(shownAmount(demand.gpus)) gpus", shownAmount(gpus))
    }
    for wanted in demand.custom {
      let most = workers.map { $0.capacity.amount(named: wanted.name) }.max() ?? .zero
      if wanted.amount > most {
        return sentence("\(shownAmount(wanted.amount)) of '\(wanted.name)'", shownAmount(most))
      }
    }
    return nil
  }

  /// The demand in words, without what it asks nothing of.
  private static func wanted(_ demand: Resources) -> String {
    var parts = ["\(shownAmount(demand.cpus)) cpus"]
    if demand.memoryBytes > 0 { parts.append("\(shownSize(demand.memoryBytes)) of memory") }
    if demand.gpus > .zero { parts.append("\(shownAmount(demand.gpus)) gpus") }
    parts += demand.custom.map { "\(shownAmount($0.amount)) of '\($0.name)'" }
    return parts.joined(separator: ", ")
  }
}

/// Warns of operations that no present worker can run.
enum PlacementNotice {
  /// Warns right after a submission. An error here ends nothing.
  static func warn(
    _ submission: GraphSubmission, _ session: Session, _ console: Console
  ) async {
    let reader = Reader(connection: session.connection, timeout: .seconds(10))
    guard let all = try? await reader.workers() else { return }
    let rows = all.filter { $0.state != .down }
    // The workers of a cluster of our own are still starting.
    if rows.isEmpty, session.embedded != nil { return }
    let staying = rows.filter { $0.state != .draining }
    for line in Placement.objections(submission, staying) { console.warn(safe(line)) }
  }

  /// The time between two checks of a watched graph. Long beside the questions that a check asks:
  /// the coordinator answers them by looking at all workers.
  private static let pause = Duration.seconds(15)
  /// The time before the first check. A worker that is just connecting is not worth a warning.
  private static let patience = Duration.seconds(2)
  /// Maximum number of graphs that are checked.
  private static let graphs = 5

  /// Checks watched graphs until its task is cancelled; tells each finding once.
  static func watch(
    _ graphs: [GraphID], _ reader: Reader, say: (String) async throws -> Void
  ) async throws {
    var told: Set<String> = []
    try await Task.sleep(for: patience)
    while true {
      for graph in graphs.prefix(Self.graphs) {
        for stage in (try? await reader.unplaceable(graph)) ?? []
        where told.insert(stage.path).inserted {
          try await say(stage.sentence)
        }
      }
      try await Task.sleep(for: pause)
    }
  }
}

/// Operations of a stage that no present worker could run.
struct UnplaceableStage: Sendable {
  /// `12/align`.
  var path: String
  var count: UInt32
  /// The demand, and what workers have.
  var reason: String

  var sentence: String {
    let who = count == 1 ? path : "\(path) (\(shownCount(count, "operation")))"
    return "\(who) waits: \(reason)"
  }
}

extension Reader {
  /// Maximum number of stages of one graph that are requested.
  private static let stagesAsked = 20

  /// Returns the stages that no present worker could run. Sends one request for the structure, and
  /// one for each of the first stages with operations that have not started.
  func unplaceable(_ graph: GraphID) async throws -> [UnplaceableStage] {
    let structure = try await structure(graph)
    guard GraphOutcome(structure.row.state) == nil else { return [] }
    let open: [StateWord] = [.ready, .waiting, .held]
    func count(_ stage: GraphStructure.Stage) -> UInt32 {
      open.reduce(0) { $0.saturatingAdd(stage.counts[$1]) }
    }
    let stages = structure.stages.filter { count($0) > 0 }
    let order = stages.filter { $0.counts[.ready] > 0 } + stages.filter { $0.counts[.ready] == 0 }
    var found: [UnplaceableStage] = []
    for stage in order.prefix(Self.stagesAsked) {
      var selection = Selection.graph(graph)
      selection.operation = stage.name
      selection.states = open
      guard let rows = try? await explanations(selection).rows,
        let lines = rows.first?.lines,
        let at = lines.firstIndex(where: { $0.meaning == .unplaceable })
      else { continue }
      let reason = lines[at...].prefix(2).map(\.forShell).joined(separator: " ")
      found.append(
        UnplaceableStage(
          path: OperationPath(graph: graph, name: stage.name).description, count: count(stage),
          reason: safe(reason)))
    }
    return found
  }
}
