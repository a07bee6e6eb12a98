// Converts scripts to text, one item per line, so that a person can read a regression and delete
// unnecessary items. Times are nanoseconds, latencies microseconds, amounts ten-thousandths. The
// text is versioned by nothing: a script in Tests/OpClusterSimulationTests/Regressions must still
// be read after any change here, so that words may be added and none given another meaning.

import OpClusterModel

/// The reason why a text is not a valid script.
public struct ScriptError: Error, CustomStringConvertible {
  public var line: Int
  public var problem: String
  public var description: String { "line \(line): \(problem)" }
}

// MARK: - Writing

extension WorldScript {
  /// The text of the file, with these comment lines first. Reading the text gives a script of the
  /// same world. Settings with their usual value may be left out.
  public func text(comments: [String] = []) -> String {
    var lines = comments.map { "# \($0)" }
    lines.append("seed \(seed)")
    lines += plan.workers.map { "worker \($0.words)" }
    lines.append("clients \(plan.clients)")
    lines.append("latency \(plan.latency.low) \(plan.latency.high)")
    lines.append("pace \(plan.pace.rawValue)")
    lines.append("failures \(plan.failurePercent)")
    if plan.unablePercent > 0 { lines.append("unable \(plan.unablePercent)") }
    if plan.contentPercent > 0 { lines.append("contents \(plan.contentPercent)") }
    if plan.lostDiskPercent > 0 { lines.append("lost-disks \(plan.lostDiskPercent)") }
    if plan.contentRotPercent > 0 { lines.append("content-rot \(plan.contentRotPercent)") }
    if plan.closedStorePercent > 0 { lines.append("closed-stores \(plan.closedStorePercent)") }
    if plan.fullStorePercent > 0 { lines.append("full-stores \(plan.fullStorePercent)") }
    lines.append("turmoil \(plan.turmoil.nanoseconds)")
    lines.append("silent \(plan.silentReconnects)")
    for mishap in mishaps {
      lines.append(
        "mishap \(mishap.at.nanoseconds) \(mishap.fault.rawValue) \(mishap.subject) "
          + "\(mishap.length.nanoseconds) \(mishap.detail)")
    }
    for entry in verdicts { lines.append("message \(entry.name.words) \(entry.verdict.words)") }
    for sync in syncs { lines.append("sync \(sync.number) \(sync.length.nanoseconds)") }
    for ask in asks {
      lines.append("ask \(ask.at.nanoseconds) \(ask.client) \(hexadecimal(ask.bytes))")
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// Requests are bytes of the wire: no one writes them by hand.
  private func hexadecimal(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef")
    var text = ""
    text.reserveCapacity(bytes.count * 2)
    for byte in bytes {
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    return text
  }
}

extension Plan.Machine {
  fileprivate var words: String {
    let seats = capacity.amount(named: "seat").tenThousandths
    return "\(capacity.cpus.tenThousandths) \(capacity.memoryBytes) "
      + "\(capacity.gpus.tenThousandths) \(seats) \(isInZone ? "zone" : "-") "
      + "\(hasRareType ? "rare" : "-") \(drift)"
  }

  fileprivate init?(_ words: some Collection<Substring>) {
    let words = Array(words)
    guard words.count == 7, let cpus = Int64(words[0]), let memory = Int64(words[1]),
      let gpus = Int64(words[2]), let seats = Int64(words[3]), let drift = Int(words[6]),
      (-100...100).contains(drift)
    else { return nil }
    capacity = Resources(
      cpus: ResourceAmount(tenThousandths: cpus), memoryBytes: memory,
      gpus: ResourceAmount(tenThousandths: gpus))
    if seats > 0 {
      let amount = ResourceAmount(tenThousandths: seats)
      capacity.custom = [Resources.NamedAmount(name: "seat", amount: amount)]
    }
    isInZone = words[4] == "zone"
    hasRareType = words[5] == "rare"
    self.drift = drift
  }
}

extension MessageName {
  fileprivate var words: String {
    let who =
      switch owner {
      case .worker(let worker): "worker \(worker)"
      case .client(let client): "client \(client)"
      case .stranger(let worker): "stranger \(worker)"
      }
    return "\(who) \(direction == .toCoordinator ? "says" : "hears") \(number)"
  }

  fileprivate init?(_ words: some Collection<Substring>) {
    let words = Array(words)
    guard words.count == 4, let at = Int(words[1]), let number = Int(words[3]) else { return nil }
    switch words[0] {
    case "worker": owner = .worker(at)
    case "client": owner = .client(at)
    case "stranger": owner = .stranger(at)
    default: return nil
    }
    direction = words[2] == "says" ? .toCoordinator : .fromCoordinator
    self.number = number
  }
}

extension Verdict {
  fileprivate var words: String {
    var words: [String] = []
    if isLost { words.append("lost") }
    if late > .zero { words.append("late=\(late.nanoseconds)") }
    if overtakes { words.append("overtakes") }
    if let again { words.append("again=\(again.nanoseconds)") }
    return words.joined(separator: " ")
  }

  fileprivate init?(_ words: some Sequence<Substring>) {
    for word in words {
      let parts = word.split(separator: "=")
      let span = parts.count == 2 ? Int64(parts[1]).map { Span(nanoseconds: $0) } : nil
      switch (parts.first, span) {
      case ("lost", nil): isLost = true
      case ("overtakes", nil): overtakes = true
      case ("late", let span?): late = span
      case ("again", let span?): again = span
      default: return nil
      }
    }
  }
}

// MARK: - Reading

extension WorldScript {
  /// Parses a script. Lines that begin with # are comments. Throws the first line that is not
  /// understood, with its number. Without a worker nothing can happen.
  public init(text: String) throws(ScriptError) {
    for (at, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      let words = line.split(separator: " ")
      guard let first = words.first, !first.hasPrefix("#") else { continue }
      guard take(first, Array(words.dropFirst())) else {
        throw ScriptError(line: at + 1, problem: "'\(line.prefix(80))' means nothing here")
      }
    }
    guard !plan.workers.isEmpty else { throw ScriptError(line: 1, problem: "there is no worker") }
  }

  /// Parses one line; false if it is invalid.
  private mutating func take(_ kind: Substring, _ words: [Substring]) -> Bool {
    let numbers = words.map { Int64($0) }
    func number(_ at: Int) -> Int64? { at < numbers.count ? numbers[at] : nil }
    switch kind {
    case "seed":
      guard let text = words.first, let value = UInt64(text) else { return false }
      seed = value
    case "worker":
      guard let machine = Plan.Machine(words) else { return false }
      plan.workers.append(machine)
    case "clients": return set(\.plan.clients, number(0), 1...100)
    case "latency":
      return set(\.plan.latency.low, number(0), 0...1_000_000)
        && set(\.plan.latency.high, number(1), 0...1_000_000)
    case "pace":
      guard let pace = words.first.flatMap({ Plan.Pace(rawValue: String($0)) }) else {
        return false
      }
      plan.pace = pace
    case "failures": return set(\.plan.failurePercent, number(0), 0...100)
    case "unable": return set(\.plan.unablePercent, number(0), 0...100)
    case "contents": return set(\.plan.contentPercent, number(0), 0...100)
    case "lost-disks": return set(\.plan.lostDiskPercent, number(0), 0...100)
    case "content-rot": return set(\.plan.contentRotPercent, number(0), 0...100)
    case "closed-stores": return set(\.plan.closedStorePercent, number(0), 0...100)
    case "full-stores": return set(\.plan.fullStorePercent, number(0), 0...100)
    case "turmoil":
      guard let length = number(0), length >= 0 else { return false }
      plan.turmoil = Span(nanoseconds: length)
    case "silent": return set(\.plan.silentReconnects, number(0), 0...100)
    default: return takeItem(kind, words, numbers)
    }
    return true
  }

  /// Numbers out of their range make the line invalid: a script is read by a person, and must not
  /// surprise.
  private mutating func set(
    _ path: WritableKeyPath<WorldScript, Int>, _ value: Int64?, _ range: ClosedRange<Int>
  ) -> Bool {
    guard let value, let number = Int(exactly: value), range.contains(number) else { return false }
    self[keyPath: path] = number
    return true
  }

  private mutating func takeItem(
    _ kind: Substring, _ words: [Substring], _ numbers: [Int64?]
  ) -> Bool {
    switch (kind, words.count) {
    case ("mishap", 5):
      guard let at = numbers[0], let fault = Fault(rawValue: String(words[1])),
        let subject = Int(words[2]), let length = numbers[3], let detail = Int(words[4]),
        subject >= 0, detail >= 0, length >= 0
      else { return false }
      mishaps.append(
        Mishap(
          at: Instant(nanoseconds: at), fault: fault, subject: subject,
          length: Span(nanoseconds: length), detail: detail))
    case ("message", 4...):
      guard let name = MessageName(words.prefix(4)), let verdict = Verdict(words.dropFirst(4))
      else { return false }
      verdicts.append(MessageVerdict(name: name, verdict: verdict))
    case ("sync", 2):
      guard let number = Int(words[0]), let length = numbers[1] else { return false }
      syncs.append(SyncVerdict(number: number, length: Span(nanoseconds: length)))
    case ("ask", 3):
      guard let at = numbers[0], let client = Int(words[1]), client >= 0,
        let bytes = Self.bytes(words[2])
      else { return false }
      asks.append(Ask(at: Instant(nanoseconds: at), client: client, bytes: bytes))
    default: return false
    }
    return true
  }

  /// nil for an odd number of digits, or anything but digits.
  private static func bytes(_ text: Substring) -> [UInt8]? {
    let digits = Array(text.utf8)
    guard digits.count % 2 == 0 else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(digits.count / 2)
    for at in stride(from: 0, to: digits.count, by: 2) {
      guard let byte = UInt8(String(decoding: digits[at...(at + 1)], as: UTF8.self), radix: 16)
      else { return nil }
      bytes.append(byte)
    }
    return bytes
  }
}
