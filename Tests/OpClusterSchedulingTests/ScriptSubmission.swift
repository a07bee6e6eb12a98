// The line `submit`: operations as a person writes them, turned into a submission.
//
//   submit queue=build key=k1  a  b(a)  c(a:succeeded)<high>  x[3](c)  y[3](x*)  z(x/2)
//
// A dependency without a policy is `finished`, the library's default (S22); `x*` pairs elements of
// equal index, `x/2` is one element. A name of an earlier submission is an edge to it (S29).

import OpClusterModel

@testable import OpClusterScheduling

struct ScriptError: Error, CustomStringConvertible {
  var description: String
  init(_ description: String) { self.description = description }
}

struct SubmissionParser {
  private let names: ScriptNames
  private var submission = GraphSubmission(name: "script")
  private var queues: [String] = []
  private var first: [UInt32] = []
  private var pendingNeeds: [(to: Int, text: String)] = []

  static func parse(
    _ words: [String], _ names: ScriptNames
  ) throws(ScriptError) -> GraphSubmission {
    var parser = SubmissionParser(names: names)
    for word in words { try parser.take(word) }
    for need in parser.pendingNeeds { try parser.add(need: need.text, to: need.to) }
    return parser.submission
  }

  private init(names: ScriptNames) { self.names = names }

  private mutating func take(_ word: String) throws(ScriptError) {
    if let attributes = word.firstIndex(of: "<"), word.hasSuffix(">") {
      try addOperation(String(word[..<attributes]))
      let list = word[word.index(after: attributes)...].dropLast()
      for attribute in list.split(separator: ",") {
        try apply(String(attribute), to: submission.templates.count - 1)
      }
    } else if word.contains("="), !word.contains("(") {
      try set(option: word)
    } else if !set(flag: word) {
      try addOperation(word)
    }
  }

  private mutating func set(flag word: String) -> Bool {
    switch word {
    case "declared": submission.isDeclaredOnly = true
    case "cycles": submission.allowsCycles = true
    case "suspended": submission.isSuspended = true
    default: return false
    }
    return true
  }

  private mutating func set(option word: String) throws(ScriptError) {
    let (key, value) = word.keyAndValue
    switch key {
    case "queue": submission.queues = [.named(value)]
    case "key": submission.key = SubmissionKey(value)
    case "continue":
      let graph = GraphID(UInt32(value) ?? 0)
      submission.continued = ContinuedGraph(graph: graph, reused: OperationRuns(graph: graph))
    case "reuse":
      for name in value.split(separator: ",") {
        guard let id = names.operation(String(name)) else { throw ScriptError("no \(name)") }
        submission.continued?.reused.append(id.index)
      }
    case "on-failure":
      submission.failurePolicy = value == "stop" ? .stop : value == "cancel" ? .cancel : .continue
    default: throw ScriptError("unknown option \(word)")
    }
  }

  private mutating func addOperation(_ word: String) throws(ScriptError) {
    var rest = word[...]
    var needs = ""
    if let open = rest.firstIndex(of: "("), rest.hasSuffix(")") {
      needs = String(rest[rest.index(after: open)...].dropLast())
      rest = rest[..<open]
    }
    var count: UInt32 = 1
    var isArray = false
    if let open = rest.firstIndex(of: "["), rest.hasSuffix("]") {
      guard let size = UInt32(rest[rest.index(after: open)...].dropLast()) else {
        throw ScriptError("no count in \(word)")
      }
      count = size
      isArray = true
      rest = rest[..<open]
    }
    var template = noops(String(rest), count)
    template.isArray = isArray
    first.append(UInt32(submission.operationCount))
    submission.templates.append(template)
    let to = submission.templates.count - 1
    for need in needs.split(separator: ",") { pendingNeeds.append((to, String(need))) }
  }

  private mutating func apply(_ attribute: String, to at: Int) throws(ScriptError) {
    let (key, value) = attribute.keyAndValue
    if let priority = Priority(word: key) {
      submission.templates[at].priority = priority
      return
    }
    switch key {
    case "join": submission.templates[at].work = .nothing
    case "blocks":
      submission.templates[at].work = .blocks([OperationType(name: "noop")])
      submission.templates[at].payload = Array(value.utf8)
    case "exclusive": submission.templates[at].isExclusive = true
    case "held": submission.templates[at].isHeld = true
    case "delay": submission.templates[at].notBefore = .after(try duration(value))
    case "at":
      let time = try duration(value).nanoseconds / 1_000_000
      submission.templates[at].notBefore = .at(WallTime(milliseconds: time))
    case "barrier": submission.templates[at].isBarrier = true
    case "final": submission.templates[at].isFinal = true
    case "inputs": submission.templates[at].wantsInputs = true
    case "priority": submission.templates[at].priority = Priority(normalising: Int(value) ?? 0)
    case "type": submission.templates[at].work = .call(OperationType(word: value))
    case "types":
      submission.templates[at].work = .blocks(
        value.split(separator: "+").map { OperationType(word: String($0)) })
    case "retry": submission.templates[at].retry.maximum = UInt32(value) ?? 0
    case "backoff": submission.templates[at].retry.backoff = try duration(value)
    case "losses": submission.templates[at].maximumLosses = UInt32(value) ?? 0
    case "parallel": submission.templates[at].maximumParallel = UInt32(value) ?? 0
    case "cpus": submission.templates[at].demand.cpus = ResourceAmount(Int64(value) ?? 1)
    case "memory": submission.templates[at].demand.memoryBytes = Int64(value) ?? 0
    case "tag": submission.templates[at].labels.append(Label(key: "tag", value: value))
    case "qos": submission.templates[at].qos = QualityOfService(word: value)
    case "queue": submission.templates[at].queue = position(ofQueue: value)
    default: throw ScriptError("unknown attribute \(attribute)")
    }
  }

  private mutating func position(ofQueue name: String) -> UInt32 {
    if submission.queues.isEmpty { submission.queues = [.named("default")] }
    if let at = submission.queues.firstIndex(of: .named(name)) { return UInt32(at) }
    if name.hasPrefix("own:") {
      let settings = QueueSettings(name: String(name.dropFirst(4)))
      if let at = submission.queues.firstIndex(of: .own(settings)) { return UInt32(at) }
      submission.queues.append(.own(settings))
      return UInt32(submission.queues.count - 1)
    }
    submission.queues.append(.named(name))
    return UInt32(submission.queues.count - 1)
  }

  // MARK: - Dependencies

  private mutating func add(need: String, to: Int) throws(ScriptError) {
    let parts = need.split(separator: ":").map(String.init)
    let policy = parts.count == 2 ? try edgePolicy(parts[1]) : .finished
    var name = parts[0]
    let isSameIndex = name.hasSuffix("*")
    if isSameIndex { name.removeLast() }
    if let from = submission.templates.firstIndex(where: { $0.name == name }) {
      submission.groupEdges.append(
        GroupEdge(
          from: UInt32(from), to: UInt32(to), policy: policy,
          match: isSameIndex ? .sameIndex : .all))
    } else if let from = element(name) {
      addElementEdges(from: from, to: to, policy)
    } else if let from = names.operation(name) {
      for element in 0..<submission.templates[to].count {
        submission.externalEdges.append(
          ExternalEdge(from: from, to: first[to] + element, policy: policy))
      }
    } else {
      throw ScriptError("nothing is named \(name)")
    }
  }

  /// `x/2` of this submission.
  private func element(_ name: String) -> UInt32? {
    let parts = name.split(separator: "/").map(String.init)
    guard parts.count == 2, let shown = UInt32(parts[1]),
      let from = submission.templates.firstIndex(where: { $0.name == parts[0] })
    else { return nil }
    return first[from] + shown - 1
  }

  private mutating func addElementEdges(from: UInt32, to: Int, _ policy: EdgePolicy) {
    for element in 0..<submission.templates[to].count {
      submission.elementEdges.from.append(from)
      submission.elementEdges.to.append(first[to] + element)
      submission.elementEdges.policies.append(policy)
    }
  }
}

func edgePolicy(_ word: String) throws(ScriptError) -> EdgePolicy {
  switch word {
  case "finished": .finished
  case "succeeded": .succeeded
  case "failed": .failed
  default: throw ScriptError("\(word) is no policy")
  }
}

/// `5s`, `100ms`, `20us`.
func duration(_ text: String) throws(ScriptError) -> Span {
  let digits = text.prefix { $0.isNumber }
  guard let count = Int64(digits) else { throw ScriptError("\(text) is no length of time") }
  switch text.dropFirst(digits.count) {
  case "s": return .seconds(count)
  case "ms": return .milliseconds(count)
  case "us": return Span(nanoseconds: count * 1000)
  default: throw ScriptError("\(text) is no length of time")
  }
}

extension Priority {
  init?(word: String) {
    switch word {
    case "very-low": self = .veryLow
    case "low": self = .low
    case "normal": self = .normal
    case "high": self = .high
    case "very-high": self = .veryHigh
    default: return nil
    }
  }
  var word: String {
    switch self {
    case .veryLow: "very-low"
    case .low: "low"
    case .normal: "normal"
    case .high: "high"
    case .veryHigh: "very-high"
    }
  }
}

extension QualityOfService {
  init?(word: String) {
    switch word {
    case "background": self = .background
    case "utility": self = .utility
    case "default": self = .default
    case "user-initiated": self = .userInitiated
    case "user-interactive": self = .userInteractive
    default: return nil
    }
  }
}

extension Label {
  /// `zone:a`
  init(word: String) {
    let parts = word.split(separator: ":").map(String.init)
    self.init(key: parts[0], value: parts.count == 2 ? parts[1] : "")
  }
}

extension LabelRequirement {
  /// `zone:a`, or `zone:a,b` for one of the two.
  init(word: String) {
    let label = Label(word: word)
    self.init(key: label.key, values: label.value.split(separator: ",").map(String.init))
  }
}

extension OperationType {
  /// `denoise`, or `denoise#7` with the fingerprint 7.
  init(word: String) {
    let parts = word.split(separator: "#").map(String.init)
    self.init(name: parts[0], fingerprint: parts.count == 2 ? UInt64(parts[1]) ?? 0 : 0)
  }
}

extension String {
  /// Before and after the first `=`.
  var keyAndValue: (String, String) {
    guard let at = firstIndex(of: "=") else { return (self, "") }
    return (String(self[..<at]), String(self[index(after: at)...]))
  }
}
