// Decodes the manifest's root: version, name, queues, failure policy, operations. The compiler
// calls it after it has resolved the parameters.
// Operations are in `OperationDecoder.swift`. The order is that of the text, since positions of
// templates are what people see in lists.

import OpClusterModel

/// Each method decodes one key of the root; a missing key leaves its default.
struct GraphDecoder {
  let fields: Fields
  private var findings: Findings { fields.findings }

  init(fields: Fields) { self.fields = fields }

  /// Reports everything that it finds. Parts that could not be decoded are left out.
  func decode() -> GraphDeclaration {
    var graph = GraphDeclaration()
    checkVersion()
    graph.name = fields.name("name")
    if fields["description"] != nil { _ = fields.text("description") }
    if fields["$schema"] != nil { _ = fields.text("$schema") }
    graph.files = fields.list("files") ?? []
    if let node = fields.node("labels") {
      SettingsDecoder.labels(node, findings, onto: &graph.labels)
    }
    if fields["notify"] != nil {
      graph.notifications = NotificationDecoder(findings: findings)
        .decode(fields.list("notify") ?? [])
    }
    graph.queues = queues()
    decodeFailures(&graph)
    // A limit for the whole graph; leaving it out could make a graph run for days.
    fields.refuse("deadline", hint: "'timeout' bounds an operation")
    let decoded = operations()
    graph.operations = decoded.operations
    addQueues(decoded.queues, &graph)
    return graph
  }

  /// A version is needed so that a later format can change the meaning of keys. `"1"` in quotes is
  /// refused as well: it is a text.
  private func checkVersion() {
    guard let node = fields.node("version") else {
      findings.error("the manifest has no 'version'", fields.place, hint: "add 'version: 1'")
      return
    }
    guard case .scalar("1", isPlain: true) = node.value else {
      findings.error("the version is \(node.kind), known is 1", node.place)
      return
    }
  }

  /// Queues of the graph live and end with it.
  private func queues() -> [QueueSettings] {
    guard let node = fields.node("queues") else { return [] }
    let table = KeyTable(name: "'queues'", keys: [], isOpen: true)
    guard let queues = Fields(node, table, findings) else { return [] }
    if queues.entries.count > Limits.queuesPerGraph {
      findings.error("more than \(Limits.queuesPerGraph) queues", node.place)
    }
    return queues.entries.compactMap(queue)
  }

  /// A queue without a mapping has the defaults: `files:` alone is a queue.
  private func queue(_ entry: ManifestNode.Entry) -> QueueSettings? {
    guard Names.isName(entry.key) else {
      findings.error("'\(entry.key)' cannot name a queue", entry.place, hint: Findings.nameHint)
      return nil
    }
    var settings = QueueSettings(name: entry.key)
    if entry.value.isNull { return settings }
    let name = "queue '\(entry.key)'"
    guard let fields = Fields(entry.value, ManifestKeys.queue, name: name, findings) else {
      return settings
    }
    if let node = fields.node("max_concurrent") {
      // The word is needed only to undo a number, as for a parameter.
      if case .scalar("unlimited", _) = node.value {
        settings.maximumConcurrent = nil
      } else {
        let range = 0...Int(UInt32.max)
        settings.maximumConcurrent = findings.integer(node, "'max_concurrent'", range)
          .map { UInt32($0) }
      }
    }
    if let qos = fields.choice("qos", SettingsDecoder.qosWords) { settings.qos = qos }
    if let isSuspended = fields.bool("suspended") { settings.isSuspended = isSuspended }
    if let node = fields.node("require") {
      RequirementDecoder.decode(node, findings, onto: &settings.pool)
    }
    fields.refuse("priority", hint: "give the operations a priority, or the queue a 'qos'")
    // Only one backing queue exists, so any other name would be a promise.
    if fields["cluster_queue"] != nil, fields.text("cluster_queue") != "default" {
      fields.refuse("cluster_queue")
    }
    return settings
  }

  /// The share of `max_failures` is of operations that run: it is computed when they are known.
  private func decodeFailures(_ graph: inout GraphDeclaration) {
    let words: [(String, FailurePolicy)] = [
      ("continue", .continue), ("stop", .stop), ("cancel", .cancel),
    ]
    if let policy = fields.choice("on_failure", words) { graph.failurePolicy = policy }
    graph.maximumFailures = fields.failureBound()
  }

  /// Defaults are decoded before operations, which start from them. `env_file`, `env` and then
  /// `defaults` follow each other, later ones winning.
  private func operations() -> DecodedOperations {
    var defaults = DeclaredSettings()
    if let node = fields.node("env_file") {
      SecretDecoder(findings: findings).files(node, onto: &defaults.environment)
    }
    if let node = fields.node("env") {
      SettingsDecoder.environment(node, findings, onto: &defaults.environment)
    }
    if let node = fields.node("defaults"),
      let settings = Fields(node, ManifestKeys.settings, findings)
    {
      defaults = SettingsDecoder(fields: settings).decode(onto: defaults)
    }
    var all = decode("operations", defaults, isFinal: false)
    if fields["operations"] == nil {
      findings.error("the manifest has no 'operations'", fields.place)
    }
    // Barriers change the needs of operations, so those must be decoded before.
    all.operations += barriers(&all.operations)
    all.append(decode("finally", defaults, isFinal: true))
    return all
  }

  /// - Parameter isFinal: Whether the graph's failure policy spares them.
  private func decode(
    _ key: String, _ defaults: DeclaredSettings, isFinal: Bool
  ) -> DecodedOperations {
    var all = DecodedOperations()
    guard let node = fields.node(key) else { return all }
    let table = KeyTable(name: "'\(key)'", keys: [], isOpen: true)
    guard let operations = Fields(node, table, findings) else { return all }
    if operations.entries.isEmpty { findings.error("'\(key)' is empty", node.place) }
    let decoder = OperationDecoder(findings: findings, defaults: defaults, isFinal: isFinal)
    for entry in operations.entries { all.append(decoder.decode(entry)) }
    return all
  }

  /// Adds the queues of groups to the manifest's own.
  /// Two queues of one name would be one by accident.
  private func addQueues(_ queues: [QueueSettings], _ graph: inout GraphDeclaration) {
    for queue in queues {
      if graph.queues.contains(where: { $0.name == queue.name }) {
        findings.error(
          "the group '\(queue.name)' has a queue of its own, and there is one of this name",
          fields["queues"]?.place, hint: "name the queue or the group otherwise")
      }
      graph.queues.append(queue)
    }
    if graph.queues.count > Limits.queuesPerGraph, !queues.isEmpty {
      findings.error("more than \(Limits.queuesPerGraph) queues", fields["queues"]?.place)
    }
  }

  /// `barriers`: join points between the operations of two lists.
  /// A barrier is an operation without work: `after` are its needs, and each of `before` needs it.
  /// O(operations) for the table of names.
  private func barriers(_ all: inout [OperationDeclaration]) -> [OperationDeclaration] {
    var joints: [OperationDeclaration] = []
    // A name that occurs twice is reported by `Edges`.
    let known = Dictionary(all.indices.map { (all[$0].name, $0) }, uniquingKeysWith: { a, _ in a })
    for item in fields.list("barriers") ?? [] {
      guard let barrier = Fields(item, ManifestKeys.barrier, findings) else { continue }
      for key in ["name", "after", "before"] where barrier[key] == nil {
        findings.error("a barrier needs '\(key)'", item.place)
      }
      guard let entry = barrier["name"], let name = barrier.name("name") else { continue }
      // The condition is that of `after`; whoever stands behind waits for the barrier's success.
      let needs = NeedsDecoder(findings: findings)
      let policy = barrier.node("when").flatMap { needs.policy($0) } ?? .succeeded
      var joint = OperationDeclaration(
        name: name, place: entry.value.place, settings: DeclaredSettings())
      joint.needs = names(barrier, "after").map {
        DeclaredNeed(on: $0, policy: policy, match: .all)
      }
      joints.append(joint)
      for before in names(barrier, "before") {
        guard let at = known[before.name] else {
          let hint = NearNames.hint(for: before.name, among: known.keys.sorted())
          findings.error("unknown operation '\(before.name)'", before.place, hint: hint)
          continue
        }
        let on = PlacedName(name: name, place: before.place)
        // A group waits by its members: a need of its joint alone would hold none of them back.
        for at in all[at].members.map({ $0.compactMap { known[$0] } }) ?? [at] {
          all[at].needs.append(DeclaredNeed(on: on, policy: .succeeded, match: .all))
        }
      }
    }
    return joints
  }

  /// Names that are no names have been reported, and are left out.
  private func names(_ fields: Fields, _ key: String) -> [PlacedName] {
    (fields.list(key) ?? []).compactMap { node in
      findings.name(node, "an operation").map { PlacedName(name: $0, place: node.place) }
    }
  }
}

extension Fields {
  /// Decodes `max_failures`: a number, or a percentage.
  /// A percentage is kept as such until the total is known.
  func failureBound() -> FailureBound? {
    guard let node = node("max_failures") else { return nil }
    if case .scalar(let text, _) = node.value, text.hasSuffix("%") {
      if let percent = Int(text.dropLast()), (0...100).contains(percent) {
        return .percent(percent)
      }
      findings.error("'max_failures' must be from 0% to 100%, not '\(text)'", node.place)
      return nil
    }
    return findings.integer(node, "'max_failures'", 0...Int(UInt32.max)).map {
      .count(UInt32($0))
    }
  }
}
