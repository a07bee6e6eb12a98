// Figures for monitoring, in the terms of Prometheus: families of samples. Values; a daemon makes
// them when somebody asks, `Exposition` writes them down.

/// Samples of one name.
public struct MetricFamily: Sendable, Equatable {
  public enum Kind: String, Sendable {
    /// Only grows; begins at 0 with the process.
    case counter
    case gauge
    case histogram
  }

  public struct Sample: Sendable, Equatable {
    public var labels: [(name: String, value: String)]
    public var value: Value

    public init(_ value: Value, _ labels: [(name: String, value: String)] = []) {
      self.labels = labels
      self.value = value
    }

    public static func == (one: Self, other: Self) -> Bool {
      one.value == other.value && one.labels.elementsEqual(other.labels, by: ==)
    }
  }

  public enum Value: Sendable, Equatable {
    case number(Double)
    case histogram(Histogram)
  }

  /// With the unit at its end (`_seconds`, `_bytes`), without `_total`.
  public var name: String
  public var kind: Kind
  /// One sentence for people.
  public var help: String
  public var samples: [Sample]

  public init(_ name: String, _ kind: Kind, _ help: String, _ samples: [Sample]) {
    self.name = name
    self.kind = kind
    self.help = help
    self.samples = samples
  }

  /// One number without labels.
  public init(_ name: String, _ kind: Kind, _ help: String, _ number: some BinaryInteger) {
    self.init(name, kind, help, [Sample(.number(Double(number)))])
  }

  /// One number without labels.
  public init(_ name: String, _ kind: Kind, _ help: String, _ number: Double) {
    self.init(name, kind, help, [Sample(.number(number))])
  }

  /// A number for each value of a label.
  public init(
    _ name: String, _ kind: Kind, _ help: String, by label: String, _ numbers: [(String, Double)]
  ) {
    self.init(
      name, kind, help, numbers.map { Sample(.number($0.1), [(name: label, value: $0.0)]) })
  }
}

/// How many observations lie below each of some bounds.
public struct Histogram: Sendable, Equatable {
  /// Ascending.
  public let bounds: [Double]
  /// Observations in each interval; the last one is beyond all bounds.
  public private(set) var counts: [UInt64]
  public private(set) var sum = 0.0

  public init(bounds: [Double]) {
    self.bounds = bounds
    counts = Array(repeating: 0, count: bounds.count + 1)
  }

  /// Costs a logarithm of the bounds. What is no number of seconds or bytes is left out.
  public mutating func observe(_ value: Double, times: UInt64 = 1) {
    guard value.isFinite, value >= 0 else { return }
    var (low, high) = (0, bounds.count)
    while low < high {
      let middle = (low + high) / 2
      if value <= bounds[middle] { high = middle } else { low = middle + 1 }
    }
    counts[low] &+= times
    sum += value * Double(times)
  }

  /// From a millisecond to a day: the times of operations.
  public static let operationSeconds = [
    0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3_600, 14_400, 86_400,
  ]
  /// From some microseconds to seconds: what a loop or a disk takes.
  public static let turnSeconds = [
    0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5,
  ]
}
