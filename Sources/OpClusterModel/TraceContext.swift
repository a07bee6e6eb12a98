// W3C Trace Context: where a graph belongs in somebody's trace, and the numbers of its spans, which
// `opbatch trace` writes down and operations find in their environment. They follow from what they
// stand for, so that nobody has to keep them.

/// The numbers of a trace, of 16 bytes, and of a span, of 8 bytes, in hexadecimal.
public struct TraceParent: Hashable, Sendable, CustomStringConvertible {
  public let trace: String
  public let span: String
  /// Two digits; 01: somebody keeps this trace.
  public let flags: String

  /// Reads `00-TRACE-SPAN-FLAGS`; nil: it is none.
  public init?(_ text: String) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count >= 4, parts[0].utf8.count == 2, parts[0] != "ff",
      parts[0] != "00" || parts.count == 4, Self.isNumber(parts[1], 32),
      Self.isNumber(parts[2], 16), Self.areDigits(parts[0]), Self.areDigits(parts[3]),
      parts[3].utf8.count == 2
    else { return nil }
    trace = String(parts[1])
    span = String(parts[2])
    flags = String(parts[3])
  }

  private init(trace: String, span: String, flags: String) {
    (self.trace, self.span, self.flags) = (trace, span, flags)
  }

  /// In the version that everybody reads.
  public var description: String { "00-\(trace)-\(span)-\(flags)" }

  /// The same trace, with another span.
  public func with(span: String) -> TraceParent {
    TraceParent(trace: trace, span: span, flags: flags)
  }

  private static func isNumber(_ text: Substring, _ count: Int) -> Bool {
    text.utf8.count == count && areDigits(text) && text.contains { $0 != "0" }
  }

  private static func areDigits(_ text: Substring) -> Bool {
    text.utf8.allSatisfy {
      ($0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9"))
        || ($0 >= UInt8(ascii: "a") && $0 <= UInt8(ascii: "f"))
    }
  }
}

/// The numbers of the spans of one graph.
public struct GraphSpans: Sendable {
  private let seed: String

  /// - Parameter parent: The span in which it was submitted.
  public init(_ graph: GraphID, below parent: TraceParent) {
    seed = "\(parent.trace) \(parent.span) \(graph.number)"
  }

  /// Of a graph that is a trace of its own.
  public init(_ graph: GraphID, name: String, submittedAt: WallTime) {
    seed = "\(graph.number) \(name) \(submittedAt.milliseconds)"
  }

  /// The number of its own trace.
  public var trace: String { Self.number(seed, 0) + Self.number(seed, 1) }
  public var graph: String { Self.number("graph \(seed)", 2) }

  public func operation(_ index: UInt32) -> String {
    Self.number("operation \(index) \(seed)", 2)
  }

  /// - Parameter run: As people count them, from 1.
  public func attempt(_ run: UInt32, of index: UInt32) -> String {
    Self.number("attempt \(run) \(index) \(seed)", 2)
  }

  /// Eight bytes in hexadecimal that follow from a text, never zero (FNV-1a).
  private static func number(_ text: String, _ salt: UInt8) -> String {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in [salt] + Array(text.utf8) {
      hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3
    }
    // The last bytes of a text would change the upper bits little.
    hash = (hash ^ (hash >> 33)) &* 0xff51_afd7_ed55_8ccd
    hash ^= hash >> 33
    let digits = String(max(hash, 1), radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}
