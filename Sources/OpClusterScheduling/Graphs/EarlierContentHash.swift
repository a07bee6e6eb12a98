// The fingerprint of releases that left some twenty fields out of it (G19). Keys that a journal of
// such a release holds have it, and a repeat of what was submitted then must still be the same: it
// is compared as a second form, and never written again. It goes with the release that reads no
// journal of before this one, or when the last of them is older than `Limits.submissionKeyLife`.

import OpClusterModel

private struct EarlierContentHash {
  private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

  mutating func add(_ number: UInt64) { value = (value ^ number) &* 0x0000_0100_0000_01B3 }
  mutating func add(_ number: Int) { add(UInt64(bitPattern: Int64(number))) }
  mutating func add(_ text: String) { add(Array(text.utf8)) }
  mutating func add(_ bytes: [UInt8]) {
    add(bytes.count)
    var word: UInt64 = 0
    for (at, byte) in bytes.enumerated() {
      word = word << 8 | UInt64(byte)
      if at & 7 == 7 { add(word) }
    }
    add(word)
  }
  mutating func add(_ numbers: [UInt32]) {
    add(numbers.count)
    for number in numbers { add(UInt64(number)) }
  }
}

extension GraphSubmission {
  /// As it was counted before every field was part of it.
  var earlierContentHash: UInt64 {
    var hash = EarlierContentHash()
    hash.add(name)
    for template in templates { template.add(to: &hash) }
    for edge in groupEdges {
      hash.add(UInt64(edge.from) << 32 | UInt64(edge.to))
      hash.add(UInt64(edge.policy.rawValue) << 8 | UInt64(edge.match.rawValue))
    }
    hash.add(elementEdges.from)
    hash.add(elementEdges.to)
    for policy in elementEdges.policies { hash.add(UInt64(policy.rawValue)) }
    for edge in externalEdges {
      hash.add(UInt64(edge.from.graph.number) << 32 | UInt64(edge.from.index))
      hash.add(UInt64(edge.to) << 8 | UInt64(edge.policy.rawValue))
    }
    for queue in queues {
      switch queue {
      case .named(let name): hash.add(name)
      case .own(let settings):
        hash.add(settings.name)
        hash.add(Int(settings.maximumConcurrent ?? .max))
      }
    }
    hash.add(UInt64(failurePolicy.rawValue))
    hash.add(Int(maximumFailures ?? .max))
    for scope in failureScopes {
      hash.add(UInt64(scope.first) << 32 | UInt64(scope.count))
      hash.add(UInt64(scope.maximumFailures) << 1 | (scope.cancelsRunning ? 1 : 0))
    }
    if let continued {
      hash.add(UInt64(continued.graph.number))
      hash.add(continued.reused.firsts)
      hash.add(continued.reused.counts)
    }
    return hash.value
  }
}

extension OperationTemplate {
  fileprivate func add(to hash: inout EarlierContentHash) {
    hash.add(name)
    hash.add(UInt64(count))
    hash.add(payload)
    hash.add(elementArguments.bytes)
    hash.add(elementArguments.ends)
    switch work {
    case .nothing: hash.add(0)
    case .command: hash.add(1)
    case .call(let type): hash.add(type.name)
    case .blocks(let types):
      hash.add(2)
      for type in types { hash.add(type.name) }
    }
    hash.add(UInt64(queue))
    hash.add(Int(priority.rawValue))
    hash.add(Int(demand.cpus.tenThousandths))
    hash.add(Int(demand.memoryBytes))
    if isHeld { hash.add(1) }
    switch notBefore {
    case nil: break
    case .after(let span): hash.add(Int(span.nanoseconds))
    case .at(let time): hash.add(Int(time.milliseconds))
    }
    if fillsInput { hash.add(2) }
    if isExclusive { hash.add(3) }
  }
}
