// The fingerprint that distinguishes a repeated submission from a different one with the same key
// (G19). It covers an unambiguous encoding of every field except two: lists and texts begin with
// their length, optional fields with their presence, enumerations with their case. It is stable
// over processes and releases, unlike Swift's own hashing. A test visits all fields by reflection
// and fails for a field that is not counted here.

import OpClusterModel

/// A hash of 64 bits over words. It has to tell mistakes apart, not attacks: somebody who finds two
/// submissions with equal hashes gets the wrong one of their own two back.
struct ContentHash {
  /// The start value; differs from that of other hashes of this kind.
  private(set) var value: UInt64 = 0x6F70_6865_6C70_3032

  /// A bijection in each of its two arguments, so that every change of a single word is detected.
  mutating func combine(_ number: UInt64) {
    value = (value ^ number) &* 0x9E37_79B9_7F4A_7C15
    value ^= value >> 32
  }
  mutating func combine(_ number: UInt32) { combine(UInt64(number)) }
  mutating func combine(_ number: Int64) { combine(UInt64(bitPattern: number)) }
  mutating func combine(_ number: Int32) { combine(Int64(number)) }
  mutating func combine(count: Int) { combine(Int64(count)) }
  mutating func combine(_ truth: Bool) { combine(UInt64(truth ? 1 : 0)) }
  mutating func combine(_ span: Span) { combine(span.nanoseconds) }
  mutating func combine(_ text: String) { combine(bytes: text.utf8) }
  /// Eight bytes make one word; the last word may hold fewer, which the length in front tells.
  mutating func combine(bytes: some Collection<UInt8>) {
    combine(count: bytes.count)
    var word: UInt64 = 0
    var filled = 0
    for byte in bytes {
      word = word << 8 | UInt64(byte)
      filled += 1
      if filled == 8 {
        combine(word)
        word = 0
        filled = 0
      }
    }
    if filled > 0 { combine(word) }
  }
  mutating func combine(numbers: [UInt32]) {
    combine(count: numbers.count)
    for number in numbers { combine(number) }
  }
  /// The length in front separates neighbouring lists: moving an element from one to the next
  /// changes the value.
  mutating func combine<Element>(each list: [Element], _ body: (Element, inout ContentHash) -> Void)
  {
    combine(count: list.count)
    for element in list { body(element, &self) }
  }
  mutating func combine<Value>(ifAny value: Value?, _ body: (Value, inout ContentHash) -> Void) {
    combine(value != nil)
    if let value { body(value, &self) }
  }
}

/// A part of a submission that the fingerprint covers. One requirement for all, so that `hash`
/// means one thing. Every type below lists its fields in the order in which they are hashed. That
/// order, and the number of each case, must never change: journals hold the values for as long as
/// keys live. A new field is hashed only where it differs from its default, as pools are.
private protocol ContentHashed {
  func hash(into hash: inout ContentHash)
}

extension GraphSubmission {
  /// The fingerprint of everything except the key and the folder of origin: a folder is part of the
  /// content only if an operation runs in it, and then the client has written it into the command.
  var contentHash: UInt64 {
    var hash = ContentHash()
    hash.combine(name)
    hash.combine(each: templates) { $0.hash(into: &$1) }
    hash.combine(each: groupEdges) { $0.hash(into: &$1) }
    hash.combine(numbers: elementEdges.from)
    hash.combine(numbers: elementEdges.to)
    hash.combine(each: elementEdges.policies) { $1.combine(UInt32($0.rawValue)) }
    hash.combine(each: externalEdges) { $0.hash(into: &$1) }
    hash.combine(each: queues) { $0.hash(into: &$1) }
    hash.combine(UInt32(failurePolicy.rawValue))
    hash.combine(ifAny: maximumFailures) { $1.combine($0) }
    hash.combine(each: failureScopes) { $0.hash(into: &$1) }
    hash.combine(isSuspended)
    hash.combine(isDeclaredOnly)
    hash.combine(allowsCycles)
    // Where it belongs in a trace is another each time the same is submitted.
    hash.combine(each: labels.filter { $0.key != GraphSubmission.traceParentLabel }) {
      $0.hash(into: &$1)
    }
    hash.combine(ifAny: continued) { continued, hash in
      hash.combine(continued.graph.number)
      hash.combine(continued.reused.graph.number)
      hash.combine(numbers: continued.reused.firsts)
      hash.combine(numbers: continued.reused.counts)
    }
    // A digest: another value under the same key is another content, but the hash must not reveal
    // it.
    hash.combine(each: secrets) { $1.combine(numbers: SecretDigest.words(of: $0)) }
    if let recomputes {
      hash.combine(recomputes.graph.number)
      hash.combine(recomputes.index)
    }
    return hash.value
  }
}

extension GroupEdge: ContentHashed {
  fileprivate func hash(into hash: inout ContentHash) {
    hash.combine(from)
    hash.combine(to)
    hash.combine(UInt32(policy.rawValue))
    hash.combine(UInt32(match.rawValue))
  }
}

extension ExternalEdge: ContentHashed {
  fileprivate func hash(into hash: inout ContentHash) {
    hash.combine(from.graph.number)
    hash.combine(from.index)
    hash.combine(to)
    hash.combine(UInt32(policy.rawValue))
  }
}

extension QueueReference: ContentHashed {
  fileprivate func hash(into hash: inout ContentHash) {
    switch self {
    case .named(let name):
      hash.combine(count: 0)
      hash.combine(name)
    case .own(let settings):
      hash.combine(count: 1)
      hash.combine(settings.name)
      hash.combine(Int64(settings.qos.rawValue))
      hash.combine(ifAny: settings.maximumConcurrent) { $1.combine($0) }
      hash.combine(settings.isSuspended)
      // No pool: the same hash as before pools existed.
      if !settings.pool.isEmpty { hash.combine(each: settings.pool) { $0.hash(into: &$1) } }
    }
  }
}

extension FailureScope: ContentHashed {
  fileprivate func hash(into hash: inout ContentHash) {
    hash.combine(first)
    hash.combine(count)
    hash.combine(maximumFailures)
    hash.combine(cancelsRunning)
  }
}

extension Label: ContentHashed {
  fileprivate func hash(into hash: inout ContentHash) {
    hash.combine(key)
    hash.combine(value)
  }
}

extension LabelRequirement: ContentHashed {
  fileprivate func hash(into hash: inout ContentHash) {
    hash.combine(key)
    hash.combine(each: values) { $1.combine($0) }
  }
}

extension OperationTemplate: ContentHashed {
  fileprivate func hash(into hash: inout ContentHash) {
    hash.combine(name)
    hash.combine(count)
    hash.combine(isArray)
    hash.combine(each: indexRuns) { run, hash in
      hash.combine(run.first)
      hash.combine(run.count)
      hash.combine(run.step)
    }
    work.hash(into: &hash)
    hash.combine(bytes: payload)
    hash.combine(bytes: elementArguments.bytes)
    hash.combine(numbers: elementArguments.ends)
    hash.combine(queue)
    hash.combine(Int64(priority.rawValue))
    hash.combine(ifAny: qos) { $1.combine(Int64($0.rawValue)) }
    demand.hash(into: &hash)
    hash.combine(each: requirements) { $0.hash(into: &$1) }
    retry.hash(into: &hash)
    hash.combine(maximumLosses)
    hash.combine(maximumParallel)
    allowedFailures.hash(into: &hash)
    hashCircumstances(into: &hash)
    hash.combine(each: labels) { $0.hash(into: &$1) }
    hash.combine(numbers: secrets)
    // Graphs of earlier releases have none of these, and keep their hashes.
    if !isReproducible { hash.combine(isReproducible) }
    if replicas != 1 { hash.combine(UInt64(replicas) << 32) }
    if inputFiles.isEmpty, ownFiles.isEmpty, !isReusable { return }
    hash.combine(isReusable)
    hash.combine(bytes: ownFiles.bytes)
    hash.combine(numbers: ownFiles.ends)
    hash.combine(each: inputFiles) { file, hash in
      hash.combine(file.operation)
      hash.combine(file.file)
      hash.combine(file.folder)
      hash.combine(file.isByIndex)
    }
  }

  private func hashCircumstances(into hash: inout ContentHash) {
    hash.combine(isFinal)
    hash.combine(isBarrier)
    hash.combine(wantsInputs)
    hash.combine(ifAny: timeout) { $1.combine($0) }
    hash.combine(ifAny: grace) { $1.combine($0) }
    hash.combine(isHeld)
    switch notBefore {
    case nil: hash.combine(count: 0)
    case .after(let span):
      hash.combine(count: 1)
      hash.combine(span)
    case .at(let time):
      hash.combine(count: 2)
      hash.combine(time.milliseconds)
    }
    hash.combine(fillsInput)
    hash.combine(isExclusive)
  }
}

extension Work: ContentHashed {
  fileprivate func hash(into hash: inout ContentHash) {
    switch self {
    case .nothing: hash.combine(count: 0)
    case .command: hash.combine(count: 1)
    case .call(let type):
      hash.combine(count: 2)
      type.hash(into: &hash)
    case .blocks(let types):
      hash.combine(count: 3)
      hash.combine(each: types) { $0.hash(into: &$1) }
    }
  }
}

extension OperationType: ContentHashed {
  fileprivate func hash(into hash: inout ContentHash) {
    hash.combine(name)
    hash.combine(version)
    hash.combine(fingerprint)
  }
}

extension Resources: ContentHashed {
  fileprivate func hash(into hash: inout ContentHash) {
    hash.combine(cpus.tenThousandths)
    hash.combine(memoryBytes)
    hash.combine(gpus.tenThousandths)
    hash.combine(each: custom) { amount, hash in
      hash.combine(amount.name)
      hash.combine(amount.amount.tenThousandths)
    }
  }
}

extension RetryPolicy: ContentHashed {
  fileprivate func hash(into hash: inout ContentHash) {
    hash.combine(maximum)
    hash.combine(each: reasons) { $0.hash(into: &$1) }
    hash.combine(backoff)
    hash.combine(backoffPercent)
    hash.combine(maximumBackoff)
    // Omitted if false, so that older policies keep the hash that the journal has of them.
    if avoidsWorker { hash.combine(count: 1) }
  }
}

extension RetryPolicy.Reason: ContentHashed {
  fileprivate func hash(into hash: inout ContentHash) {
    switch self {
    case .any: hash.combine(count: 0)
    case .failed: hash.combine(count: 1)
    case .timeout: hash.combine(count: 2)
    case .outOfMemory: hash.combine(count: 3)
    case .lost: hash.combine(count: 4)
    case .anySignal: hash.combine(count: 5)
    case .signal(let number):
      hash.combine(count: 6)
      hash.combine(number)
    case .exit(let first, let last):
      hash.combine(count: 7)
      hash.combine(UInt32(first))
      hash.combine(UInt32(last))
    }
  }
}

extension AllowedFailures: ContentHashed {
  fileprivate func hash(into hash: inout ContentHash) {
    switch self {
    case .none: hash.combine(count: 0)
    case .all: hash.combine(count: 1)
    case .exitStatuses(let statuses):
      hash.combine(count: 2)
      hash.combine(each: statuses) { $1.combine($0) }
    }
  }
}
