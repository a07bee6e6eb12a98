// The fingerprint by which a repeated submission is told from another one under the same key (G19):
// over one unmistakable encoding of every field but two. Lists and texts begin with their length,
// what may be missing with whether it is there, what is one of several with which. Stable over
// processes and releases, unlike Swift's own hashing. A test walks over all fields by reflection:
// one that is added and not counted here fails it.

import OpClusterModel

struct ContentHash {
  /// Begins otherwise than any other number that is made like this.
  private(set) var value: UInt64 = 0x6F70_6865_6C70_3032

  /// One to one for each of its two arguments, so that no change of a single word goes unseen.
  mutating func add(_ number: UInt64) {
    value = (value ^ number) &* 0x9E37_79B9_7F4A_7C15
    value ^= value >> 32
  }
  mutating func add(_ number: UInt32) { add(UInt64(number)) }
  mutating func add(_ number: Int64) { add(UInt64(bitPattern: number)) }
  mutating func add(_ number: Int32) { add(Int64(number)) }
  mutating func add(count: Int) { add(Int64(count)) }
  mutating func add(_ truth: Bool) { add(UInt64(truth ? 1 : 0)) }
  mutating func add(_ span: Span) { add(span.nanoseconds) }
  mutating func add(_ text: String) { add(bytes: text.utf8) }
  mutating func add(bytes: some Collection<UInt8>) {
    add(count: bytes.count)
    var word: UInt64 = 0
    var filled = 0
    for byte in bytes {
      word = word << 8 | UInt64(byte)
      filled += 1
      if filled == 8 {
        add(word)
        word = 0
        filled = 0
      }
    }
    if filled > 0 { add(word) }
  }
  mutating func add(numbers: [UInt32]) {
    add(count: numbers.count)
    for number in numbers { add(number) }
  }
  mutating func add<Element>(each list: [Element], _ body: (Element, inout ContentHash) -> Void) {
    add(count: list.count)
    for element in list { body(element, &self) }
  }
  mutating func add<Value>(ifAny value: Value?, _ body: (Value, inout ContentHash) -> Void) {
    add(value != nil)
    if let value { body(value, &self) }
  }
}

extension GraphSubmission {
  /// Of everything but the key, and where it came from: a folder is a part of the content where an
  /// operation runs in it, and there the client has written it into the command.
  var contentHash: UInt64 {
    var hash = ContentHash()
    hash.add(name)
    hash.add(each: templates) { $0.add(to: &$1) }
    hash.add(each: groupEdges) { $0.add(to: &$1) }
    hash.add(numbers: elementEdges.from)
    hash.add(numbers: elementEdges.to)
    hash.add(each: elementEdges.policies) { $1.add(UInt32($0.rawValue)) }
    hash.add(each: externalEdges) { $0.add(to: &$1) }
    hash.add(each: queues) { $0.add(to: &$1) }
    hash.add(UInt32(failurePolicy.rawValue))
    hash.add(ifAny: maximumFailures) { $1.add($0) }
    hash.add(each: failureScopes) { $0.add(to: &$1) }
    hash.add(isSuspended)
    hash.add(isDeclaredOnly)
    hash.add(allowsCycles)
    hash.add(each: labels) { $0.add(to: &$1) }
    hash.add(ifAny: continued) { continued, hash in
      hash.add(continued.graph.number)
      hash.add(continued.reused.graph.number)
      hash.add(numbers: continued.reused.firsts)
      hash.add(numbers: continued.reused.counts)
    }
    // Another value under the same key is another content; the value is not to be found in it.
    hash.add(each: secrets) { $1.add(numbers: SecretDigest.words(of: $0)) }
    return hash.value
  }
}

extension GroupEdge {
  fileprivate func add(to hash: inout ContentHash) {
    hash.add(from)
    hash.add(to)
    hash.add(UInt32(policy.rawValue))
    hash.add(UInt32(match.rawValue))
  }
}

extension ExternalEdge {
  fileprivate func add(to hash: inout ContentHash) {
    hash.add(from.graph.number)
    hash.add(from.index)
    hash.add(to)
    hash.add(UInt32(policy.rawValue))
  }
}

extension QueueReference {
  fileprivate func add(to hash: inout ContentHash) {
    switch self {
    case .named(let name):
      hash.add(count: 0)
      hash.add(name)
    case .own(let settings):
      hash.add(count: 1)
      hash.add(settings.name)
      hash.add(Int64(settings.qos.rawValue))
      hash.add(ifAny: settings.maximumConcurrent) { $1.add($0) }
      hash.add(settings.isSuspended)
      // Without any: as before there were pools.
      if !settings.pool.isEmpty { hash.add(each: settings.pool) { $0.add(to: &$1) } }
    }
  }
}

extension FailureScope {
  fileprivate func add(to hash: inout ContentHash) {
    hash.add(first)
    hash.add(count)
    hash.add(maximumFailures)
    hash.add(cancelsRunning)
  }
}

extension Label {
  fileprivate func add(to hash: inout ContentHash) {
    hash.add(key)
    hash.add(value)
  }
}

extension LabelRequirement {
  fileprivate func add(to hash: inout ContentHash) {
    hash.add(key)
    hash.add(each: values) { $1.add($0) }
  }
}

extension OperationTemplate {
  fileprivate func add(to hash: inout ContentHash) {
    hash.add(name)
    hash.add(count)
    hash.add(isArray)
    hash.add(each: indexRuns) { run, hash in
      hash.add(run.first)
      hash.add(run.count)
      hash.add(run.step)
    }
    work.add(to: &hash)
    hash.add(bytes: payload)
    hash.add(bytes: elementArguments.bytes)
    hash.add(numbers: elementArguments.ends)
    hash.add(queue)
    hash.add(Int64(priority.rawValue))
    hash.add(ifAny: qos) { $1.add(Int64($0.rawValue)) }
    demand.add(to: &hash)
    hash.add(each: requirements) { $0.add(to: &$1) }
    retry.add(to: &hash)
    hash.add(maximumLosses)
    hash.add(maximumParallel)
    allowedFailures.add(to: &hash)
    addCircumstances(to: &hash)
    hash.add(each: labels) { $0.add(to: &$1) }
    hash.add(numbers: secrets)
  }

  private func addCircumstances(to hash: inout ContentHash) {
    hash.add(isFinal)
    hash.add(isBarrier)
    hash.add(wantsInputs)
    hash.add(ifAny: timeout) { $1.add($0) }
    hash.add(ifAny: grace) { $1.add($0) }
    hash.add(isHeld)
    switch notBefore {
    case nil: hash.add(count: 0)
    case .after(let span):
      hash.add(count: 1)
      hash.add(span)
    case .at(let time):
      hash.add(count: 2)
      hash.add(time.milliseconds)
    }
    hash.add(fillsInput)
    hash.add(isExclusive)
  }
}

extension Work {
  fileprivate func add(to hash: inout ContentHash) {
    switch self {
    case .nothing: hash.add(count: 0)
    case .command: hash.add(count: 1)
    case .call(let type):
      hash.add(count: 2)
      type.add(to: &hash)
    case .blocks(let types):
      hash.add(count: 3)
      hash.add(each: types) { $0.add(to: &$1) }
    }
  }
}

extension OperationType {
  fileprivate func add(to hash: inout ContentHash) {
    hash.add(name)
    hash.add(version)
    hash.add(fingerprint)
  }
}

extension Resources {
  fileprivate func add(to hash: inout ContentHash) {
    hash.add(cpus.tenThousandths)
    hash.add(memoryBytes)
    hash.add(gpus.tenThousandths)
    hash.add(each: custom) { amount, hash in
      hash.add(amount.name)
      hash.add(amount.amount.tenThousandths)
    }
  }
}

extension RetryPolicy {
  fileprivate func add(to hash: inout ContentHash) {
    hash.add(maximum)
    hash.add(each: reasons) { $0.add(to: &$1) }
    hash.add(backoff)
    hash.add(backoffPercent)
    hash.add(maximumBackoff)
    // Those that were known before this keep the hash that the journal has of them.
    if avoidsWorker { hash.add(count: 1) }
  }
}

extension RetryPolicy.Reason {
  fileprivate func add(to hash: inout ContentHash) {
    switch self {
    case .any: hash.add(count: 0)
    case .failed: hash.add(count: 1)
    case .timeout: hash.add(count: 2)
    case .outOfMemory: hash.add(count: 3)
    case .lost: hash.add(count: 4)
    case .anySignal: hash.add(count: 5)
    case .signal(let number):
      hash.add(count: 6)
      hash.add(number)
    case .exit(let first, let last):
      hash.add(count: 7)
      hash.add(UInt32(first))
      hash.add(UInt32(last))
    }
  }
}

extension AllowedFailures {
  fileprivate func add(to hash: inout ContentHash) {
    switch self {
    case .none: hash.add(count: 0)
    case .all: hash.add(count: 1)
    case .exitStatuses(let statuses):
      hash.add(count: 2)
      hash.add(each: statuses) { $1.add($0) }
    }
  }
}
