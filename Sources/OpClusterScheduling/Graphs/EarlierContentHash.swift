// The fingerprint of releases that omitted some twenty fields (G19). Journals of such releases hold
// keys with it, and a repeat of an old submission must still match: it is compared as a second
// form, and never written again. Delete it with the release that no longer reads those journals, or
// when the last of them is older than `Limits.submissionKeyLife`.

import OpClusterModel

private struct EarlierContentHash {
  private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

  mutating func combine(_ number: UInt64) { value = (value ^ number) &* 0x0000_0100_0000_01B3 }
  mutating func combine(_ number: Int) { combine(UInt64(bitPattern: Int64(number))) }
  mutating func combine(_ text: String) { combine(Array(text.utf8)) }
  mutating func combine(_ bytes: [UInt8]) {
    combine(bytes.count)
    var word: UInt64 = 0
    for (at, byte) in bytes.enumerated() {
      word = word << 8 | UInt64(byte)
      if at & 7 == 7 { combine(word) }
    }
    combine(word)
  }
  mutating func combine(_ numbers: [UInt32]) {
    combine(numbers.count)
    for number in numbers { combine(UInt64(number)) }
  }
}

extension GraphSubmission {
  /// The fingerprint as computed before every field was part of it.
  var earlierContentHash: UInt64 {
    var hash = EarlierContentHash()
    hash.combine(name)
    for template in templates { template.hash(into: &hash) }
    for edge in groupEdges {
      hash.combine(UInt64(edge.from) << 32 | UInt64(edge.to))
      hash.combine(UInt64(edge.policy.rawValue) << 8 | UInt64(edge.match.rawValue))
    }
    hash.combine(elementEdges.from)
    hash.combine(elementEdges.to)
    for policy in elementEdges.policies { hash.combine(UInt64(policy.rawValue)) }
    for edge in externalEdges {
      hash.combine(UInt64(edge.from.graph.number) << 32 | UInt64(edge.from.index))
      hash.combine(UInt64(edge.to) << 8 | UInt64(edge.policy.rawValue))
    }
    for queue in queues {
      switch queue {
      case .named(let name): hash.combine(name)
      case .own(let settings):
        hash.combine(settings.name)
        hash.combine(Int(settings.maximumConcurrent ?? .max))
      }
    }
    hash.combine(UInt64(failurePolicy.rawValue))
    hash.combine(Int(maximumFailures ?? .max))
    for scope in failureScopes {
      hash.combine(UInt64(scope.first) << 32 | UInt64(scope.count))
      hash.combine(UInt64(scope.maximumFailures) << 1 | (scope.cancelsRunning ? 1 : 0))
    }
    if let continued {
      hash.combine(UInt64(continued.graph.number))
      hash.combine(continued.reused.firsts)
      hash.combine(continued.reused.counts)
    }
    return hash.value
  }
}

extension OperationTemplate {
  fileprivate func hash(into hash: inout EarlierContentHash) {
    hash.combine(name)
    hash.combine(UInt64(count))
    hash.combine(payload)
    hash.combine(elementArguments.bytes)
    hash.combine(elementArguments.ends)
    switch work {
    case .nothing: hash.combine(0)
    case .command: hash.combine(1)
    case .call(let type): hash.combine(type.name)
    case .blocks(let types):
      hash.combine(2)
      for type in types { hash.combine(type.name) }
    }
    hash.combine(UInt64(queue))
    hash.combine(Int(priority.rawValue))
    hash.combine(Int(demand.cpus.tenThousandths))
    hash.combine(Int(demand.memoryBytes))
    if isHeld { hash.combine(1) }
    switch notBefore {
    case nil: break
    case .after(let span): hash.combine(Int(span.nanoseconds))
    case .at(let time): hash.combine(Int(time.milliseconds))
    }
    if fillsInput { hash.combine(2) }
    if isExclusive { hash.combine(3) }
  }
}
