// Decodes a group: operations under one name. Its members become operations `GROUP.MEMBER` of the
// graph; the group itself becomes a join point behind them. Called by the operation decoder.
// The coordinator does not know groups: names, edges and one queue are all that is left of them.

import OpClusterModel

/// Settings of the group apply to each member, as `defaults` do to the graph.
struct GroupDecoder {
  let findings: Findings
  /// The decoder of the group's siblings.
  /// Supplies the defaults, the prefix for nested groups, and whether the group is in `finally`.
  let outer: OperationDecoder

  /// The joint stands behind its members, as failure scopes count on adjacent positions.
  func decode(_ fields: Fields, name: String, _ place: Place) -> DecodedOperations {
    forbidMeaningless(fields)
    let needs = fields.node("needs").map { NeedsDecoder(findings: findings).decode($0) } ?? []
    guard let node = fields.node("group"), let group = Fields(node, ManifestKeys.group, findings)
    else { return DecodedOperations() }
    var result = DecodedOperations()
    var settings = SettingsDecoder(fields: fields).decode(onto: outer.defaults)
    // A limit of a group is that of a queue of its own, so that no further rule is needed in the
    // coordinator.
    if let limit = group.integer("max_concurrent", 1...Int(UInt32.max)) {
      if let entry = fields["queue"] {
        findings.error(
          "a group with 'max_concurrent' has a queue of its own", entry.place,
          hint: "leave out 'queue', or set the limit at that queue")
      }
      result.queues.append(QueueSettings(name: name, maximumConcurrent: UInt32(limit)))
      settings.queue = PlacedName(name: name, place: node.place)
    }
    if group.bool("same_worker") == true {
      group.refuse("same_worker", hint: "'blocks' run on one worker")
    }
    result.append(members(group, settings, name, needs, node.place))
    // A joint has no settings: it runs nowhere, and takes no room of any worker.
    var joint = OperationDeclaration(
      name: name, place: place, isFinal: outer.isFinal, settings: DeclaredSettings())
    joint.members = result.operations.filter { $0.members == nil }.map { $0.name }
    // A nested group's joint is among the operations; only its members are waited for.
    joint.needs = result.operations.filter { $0.members == nil }.map { member in
      // A member that may fail does not make the group fail.
      DeclaredNeed(
        on: PlacedName(name: member.name, place: member.place),
        policy: member.allowedFailures == .all ? .finished : .succeeded, match: .all,
        isResolved: true)
    }
    decodeFailures(group, &joint)
    result.operations.append(joint)
    return result
  }

  /// Decodes the group's own failure policy for its members.
  /// Without `max_failures` the policy decides: the first failure is one too many, except for
  /// `continue`.
  private func decodeFailures(_ group: Fields, _ joint: inout OperationDeclaration) {
    joint.maximumFailures = group.failureBound()
    let words: [(String, FailurePolicy)] = [
      ("continue", .continue), ("stop", .stop), ("cancel", .cancel),
    ]
    guard let policy = group.choice("on_failure", words) else { return }
    // `stop` leaves running members alone, `cancel` does not.
    joint.failureCancelsRunning = policy == .cancel
    if policy != .continue, joint.maximumFailures == nil { joint.maximumFailures = .count(0) }
  }

  /// Members see their siblings by short names, and all others by full names.
  private func members(
    _ group: Fields, _ settings: DeclaredSettings, _ name: String, _ needs: [DeclaredNeed],
    _ place: Place
  ) -> DecodedOperations {
    guard let node = group.node("operations") else {
      findings.error("'group' needs 'operations'", place)
      return DecodedOperations()
    }
    let table = KeyTable(name: "'operations'", keys: [], isOpen: true)
    guard let fields = Fields(node, table, findings) else { return DecodedOperations() }
    if fields.entries.isEmpty { findings.error("'operations' is empty", node.place) }
    let decoder = OperationDecoder(
      // The prefix grows with each level of nesting: `outer.inner.member`.
      findings: findings, defaults: settings, isFinal: outer.isFinal, prefix: name + ".")
    var result = DecodedOperations()
    for entry in fields.entries { result.append(decoder.decode(entry)) }
    // Short names are resolved here, where the siblings are known; all others wait for `Edges`.
    let siblings = Set(fields.entries.map { $0.key })
    for at in result.operations.indices {
      result.operations[at].resolveNeeds(siblings, prefix: name + ".")
      // A nested group waits through its members.
      if result.operations[at].members == nil { result.operations[at].addNeeds(needs) }
    }
    return result
  }

  /// Keys that say something about one operation's elements or files. Other keys of a group apply
  /// to members.
  private func forbidMeaningless(_ fields: Fields) {
    for key in ManifestKeys.notForGroups {
      if let entry = fields[key] {
        findings.error(
          "'\(key)' has no meaning for a group", entry.place, hint: "give it to its operations")
      }
    }
    if fields["description"] != nil { _ = fields.text("description") }
    fields.refuse("needs_any", hint: "'needs' waits for all")
    fields.refuse("if")
  }
}

extension OperationDeclaration {
  /// Resolves names within the same group before names outside.
  /// A sibling hides an operation of the graph that has the same short name.
  fileprivate mutating func resolveNeeds(_ siblings: Set<String>, prefix: String) {
    for at in needs.indices where !needs[at].isResolved {
      guard siblings.contains(needs[at].on.name) else { continue }
      needs[at].on.name = prefix + needs[at].on.name
      needs[at].isResolved = true
    }
  }

  /// A member's own need of the same operation wins, with its condition.
  fileprivate mutating func addNeeds(_ more: [DeclaredNeed]) {
    for need in more where !needs.contains(where: { $0.on.name == need.on.name }) {
      needs.append(need)
    }
  }
}
