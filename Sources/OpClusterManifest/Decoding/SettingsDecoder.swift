// Decodes the settings that `defaults` and operations share. Called by the graph and the operation
// decoder.
// Retries are in `RetryDecoder.swift`, the process and its streams in `ProcessDecoder.swift`. Keys
// and defaults are told in `Manifest.md`; the tests compare both with `ManifestKeys`.

import OpClusterModel

/// Knows nothing of operations: the same keys mean the same in `defaults`, in a group and in an
/// operation.
struct SettingsDecoder {
  let fields: Fields
  private var findings: Findings { fields.findings }

  /// - Parameter start: The settings that apply where a key is missing: `defaults`, or a group's
  /// settings.
  ///
  /// After a finding the start's value stays, so that decoding goes on.
  func decode(onto start: DeclaredSettings) -> DeclaredSettings {
    var settings = start
    decodePlacement(&settings)
    decodeRetry(&settings)
    decodeEnding(&settings)
    decodeProcess(&settings)
    decodeStreams(&settings)
    // Keys of the format that are not supported are errors if leaving them out would change the
    // result, and warnings if it would not.
    fields.refuse("suspend_signal")
    if let entry = fields["export_env"], case .sequence(let items) = entry.value.value,
      items.isEmpty
    {
      // An empty `export_env` asks for the present behaviour: nothing is copied.
    } else {
      fields.refuse("export_env", hint: "name the variables in 'env'")
    }
    fields.passOver("needs_time", "it starts whatever time a worker has left")
    // Decoded although it has no effect: a mistake in it shall not wait for the release that reads
    // it.
    _ = fields.duration("needs_time")
    decodeWarning()
    return settings
  }

  /// Where an operation runs, and before which others.
  private func decodePlacement(_ settings: inout DeclaredSettings) {
    if let entry = fields["queue"], let name = fields.name("queue") {
      settings.queue = PlacedName(name: name, place: entry.value.place)
    }
    if let node = fields.node("priority"), let priority = Self.priority(node, findings) {
      settings.priority = priority
    }
    if let qos = fields.choice("qos", Self.qosWords) { settings.qos = qos }
    if let node = fields.node("resources") {
      decodeResources(node, &settings.demand, &settings.isExclusive)
    }
    // Read after `resources`, where `exclusive` may stand as well: the one beside it wins.
    if let exclusive = fields.bool("exclusive") { settings.isExclusive = exclusive }
    if let reuse = fields.bool("reuse") { settings.isReusable = reuse }
    if let reproducible = fields.bool("reproducible") { settings.isReproducible = reproducible }
    if let replicas = fields.integer("replicas", 1...Int(Limits.replicas)) {
      settings.replicas = UInt8(replicas)
    }
    if let node = fields.node("require") {
      RequirementDecoder.decode(node, findings, onto: &settings.requirements)
    }
    if let node = fields.node("labels") {
      Self.labels(node, findings, onto: &settings.labels)
    }
  }

  /// The words of Apple's service classes, best first.
  static let qosWords: [(String, QualityOfService)] = [
    ("user-interactive", .userInteractive), ("user-initiated", .userInitiated),
    ("default", .default), ("utility", .utility), ("background", .background),
  ]
  /// The words of `Operation.QueuePriority`; a number is drawn to one of them.
  static let priorityWords: [(String, Priority)] = [
    ("very-low", .veryLow), ("low", .low), ("normal", .normal), ("high", .high),
    ("very-high", .veryHigh),
  ]

  /// Decodes a word, or a number that is rounded to a level (S48).
  /// A quoted number is a word, and an unknown one. Numbers beyond ±1000 are typing mistakes.
  static func priority(_ node: ManifestNode, _ findings: Findings) -> Priority? {
    if case .scalar(let text, _) = node.value, findings.mayBeTyped(node),
      ManifestNode.isNumber(text)
    {
      return findings.integer(node, "'priority'", -1000...1000).map(Priority.init(normalising:))
    }
    return findings.choice(node, "'priority'", priorityWords)
  }

  /// Also for the labels of the graph. A key of an outer level may be repeated: the last value
  /// wins, and stands at the end.
  static func labels(_ node: ManifestNode, _ findings: Findings, onto labels: inout [Label]) {
    let table = KeyTable(name: "'labels'", keys: [], isOpen: true)
    guard let fields = Fields(node, table, findings) else { return }
    for entry in fields.entries {
      guard let value = findings.text(entry.value, "the label '\(entry.key)'") else { continue }
      // A finding with a line is better than the coordinator's refusal of the whole.
      if !Names.isLabelKey(entry.key) {
        findings.error(
          "'\(entry.key)' cannot be a label", entry.place,
          hint: "a letter, then letters, digits, '_', '.', '/', '-'; at most 63")
      } else if value.utf8.count > Limits.labelBytes {
        findings.error("a label has at most \(Limits.labelBytes) bytes", entry.value.place)
      } else {
        labels.removeAll { $0.key == entry.key }
        labels.append(Label(key: entry.key, value: value))
      }
    }
    if labels.count > Limits.labelsPerThing {
      findings.error("more than \(Limits.labelsPerThing) labels", node.place)
    }
  }

  /// Amounts of a mapping replace those of `defaults` key by key, so an operation may ask for more
  /// memory alone.
  private func decodeResources(
    _ node: ManifestNode, _ demand: inout Resources, _ isExclusive: inout Bool
  ) {
    guard let fields = Fields(node, ManifestKeys.resources, findings) else { return }
    if let node = fields.node("cpus") {
      if case .scalar("all", _) = node.value {
        findings.error("'cpus: all' is not supported yet", node.place)
      } else if let amount = findings.amount(node, "'cpus'") {
        demand.cpus = amount
      }
    }
    if let node = fields.node("memory"), let bytes = memory(node) { demand.memoryBytes = bytes }
    if let node = fields.node("gpus"), let amount = findings.amount(node, "'gpus'") {
      demand.gpus = amount
    }
    // Named resources are the way to count disks: they are given by workers, and are taken by the
    // same rules.
    fields.refuse("disk", hint: "name a resource of your own, and give workers some of it")
    if let exclusive = fields.bool("exclusive") { isExclusive = exclusive }
    for entry in fields.chosen { decodeCustom(entry, &demand.custom) }
    // Ascending names are part of the wire format of resources.
    demand.custom.sort { $0.name < $1.name }
    if demand.custom.count > Limits.customResources {
      findings.error("more than \(Limits.customResources) resources of your own", node.place)
    }
  }

  /// A resource of the user's own, such as a licence. A name that is nearly a known key is warned
  /// of, as `memroy` would ask for a resource that no worker has.
  private func decodeCustom(_ entry: ManifestNode.Entry, _ custom: inout [Resources.NamedAmount]) {
    let near = NearNames.hint(for: entry.key, among: ManifestKeys.resources.keys)
    guard Names.isName(entry.key) else {
      findings.error("'\(entry.key)' cannot name a resource", entry.place, hint: Findings.nameHint)
      return
    }
    // A placeholder stands for a number, which is looked at when its parameter is known.
    guard case .scalar(let text, _) = entry.value.value,
      ManifestNode.isNumber(text)
        || text.hasPrefix("${{")
    else {
      findings.error(
        "the resource '\(entry.key)' takes a number, not \(entry.value.kind)", entry.place,
        hint: near)
      return
    }
    if !near.isEmpty {
      findings.warning("'\(entry.key)' is a resource of your own", entry.place, hint: near)
    }
    guard let amount = findings.amount(entry.value, "'\(entry.key)'") else { return }
    custom.removeAll { $0.name == entry.key }
    custom.append(Resources.NamedAmount(name: entry.key, amount: amount))
  }

  /// Decodes a size. Of a growing size it takes `first`.
  /// A size that grows with each attempt is a plan of the format. Its other keys are checked, and
  /// their values are dropped.
  private func memory(_ node: ManifestNode) -> Int64? {
    guard case .mapping = node.value else { return enough(findings.bytes(node, "'memory'"), node) }
    guard let fields = Fields(node, ManifestKeys.growing, findings) else { return nil }
    if fields["factor"] != nil || fields["max"] != nil {
      findings.warning(
        "memory that grows is not supported yet: every attempt gets 'first'", node.place)
    }
    if let factor = fields.node("factor") { _ = findings.amount(factor, "'factor'") }
    _ = fields.bytes("max")
    if fields["first"] == nil { findings.error("'memory' needs 'first'", node.place) }
    return enough(fields.bytes("first"), fields.node("first") ?? node)
  }

  /// Whoever leaves out the unit of a size means more than bytes.
  private func enough(_ memory: Int64?, _ node: ManifestNode) -> Int64? {
    if let memory, memory > 0, memory < Self.leastMemory {
      findings.warning(
        "\(memory) bytes of memory are too few for any program", node.place,
        hint: "write a unit, like \(memory)MiB or 4GB")
    }
    return memory
  }

  /// No program starts with less.
  private static let leastMemory: Int64 = 64 << 10

  /// How long it may take, and how it is stopped. Times are nanoseconds from here on.
  private func decodeEnding(_ settings: inout DeclaredSettings) {
    if let node = fields.node("not_before"), let moment = findings.moment(node, "'not_before'") {
      settings.notBefore = moment
    }
    if let timeout = fields.duration("timeout") {
      settings.timeout = timeout
      // A timeout of zero would end every attempt before it began.
      if timeout == .zero, let node = fields.node("timeout") {
        findings.error("'timeout' must be longer than nothing", node.place)
      }
    }
    guard let node = fields.node("cancel"),
      let cancel = Fields(node, ManifestKeys.cancel, findings)
    else { return }
    if let signal = cancel.signal("signal") { settings.stopSignal = signal }
    if let grace = cancel.duration("grace") { settings.grace = grace }
    // Signals go to whole process trees; `group: false` would ask for less.
    if cancel.bool("group") == false {
      cancel.refuse("group", hint: "the signal goes to all processes of the operation")
    }
  }

  /// Only the form is checked: both keys must be there and be what they say.
  private func decodeWarning() {
    fields.passOver("warn_before_timeout", "no signal is sent before the timeout")
    guard let node = fields.node("warn_before_timeout"),
      let warning = Fields(node, ManifestKeys.warning, findings)
    else { return }
    for key in ManifestKeys.warning.keys where warning[key] == nil {
      findings.error("'warn_before_timeout' needs '\(key)'", node.place)
    }
    _ = warning.signal("signal")
    _ = warning.duration("before")
  }
}
