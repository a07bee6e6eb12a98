// The resources that an operation demands and that a worker has.

/// An amount of a resource in ten-thousandths of a unit, so that half a gpu is exact.
public struct ResourceAmount: Hashable, Comparable, Sendable {
  public var tenThousandths: Int64
  public init(tenThousandths: Int64) { self.tenThousandths = tenThousandths }
  /// Makes an amount of whole units; clamps beyond 900 million million.
  public init(_ units: Int64) {
    let (value, overflow) = units.multipliedReportingOverflow(by: 10_000)
    tenThousandths = overflow ? (units < 0 ? .min / 2 : .max / 2) : value
  }
  public static let zero = ResourceAmount(tenThousandths: 0)
  public static func < (a: Self, b: Self) -> Bool { a.tenThousandths < b.tenThousandths }
  public static func + (a: Self, b: Self) -> Self {
    ResourceAmount(tenThousandths: a.tenThousandths &+ b.tenThousandths)
  }
  public static func - (a: Self, b: Self) -> Self {
    ResourceAmount(tenThousandths: a.tenThousandths &- b.tenThousandths)
  }
  public var units: Double { Double(tenThousandths) / 10_000 }
}

/// Amounts of cpus, memory, gpus and named resources: a demand or a capacity.
public struct Resources: Hashable, Sendable {
  public var cpus: ResourceAmount
  /// Bytes; 0 in a demand means no claim.
  public var memoryBytes: Int64
  public var gpus: ResourceAmount
  /// Sorted by name; each name once.
  public var custom: [NamedAmount]

  public init(
    cpus: ResourceAmount = ResourceAmount(1), memoryBytes: Int64 = 0,
    gpus: ResourceAmount = .zero, custom: [NamedAmount] = []
  ) {
    self.cpus = cpus
    self.memoryBytes = memoryBytes
    self.gpus = gpus
    self.custom = custom.sorted { $0.name < $1.name }
  }
  public static let none = Resources(cpus: .zero)

  public struct NamedAmount: Hashable, Sendable {
    public var name: String
    public var amount: ResourceAmount
    public init(name: String, amount: ResourceAmount) {
      self.name = name
      self.amount = amount
    }
  }

  public func amount(named name: String) -> ResourceAmount {
    custom.first { $0.name == name }?.amount ?? .zero
  }

  /// Whether `self` can hold `demand`.
  public func covers(_ demand: Resources) -> Bool {
    demand.cpus <= cpus && demand.memoryBytes <= memoryBytes && demand.gpus <= gpus
      && demand.custom.allSatisfy { $0.amount <= amount(named: $0.name) }
  }

  /// Subtracts `demand`. The result may be negative: operations fetched ahead wait at the worker.
  public mutating func take(_ demand: Resources) { add(demand, sign: -1) }
  public mutating func giveBack(_ demand: Resources) { add(demand, sign: 1) }

  private mutating func add(_ demand: Resources, sign: Int64) {
    cpus.tenThousandths &+= sign &* demand.cpus.tenThousandths
    memoryBytes &+= sign &* demand.memoryBytes
    gpus.tenThousandths &+= sign &* demand.gpus.tenThousandths
    for wanted in demand.custom {
      if let at = custom.firstIndex(where: { $0.name == wanted.name }) {
        custom[at].amount.tenThousandths &+= sign &* wanted.amount.tenThousandths
      }
    }
  }
}

/// A label of a worker, an operation or a graph.
public struct Label: Hashable, Sendable {
  public var key: String
  public var value: String
  public init(key: String, value: String) {
    self.key = key
    self.value = value
  }
}

/// `require: {key: [values]}`: the worker's label must have one of the values.
public struct LabelRequirement: Hashable, Sendable {
  public var key: String
  public var values: [String]
  public init(key: String, values: [String]) {
    self.key = key
    self.values = values
  }
  public func isMet(by labels: [Label]) -> Bool {
    labels.contains { $0.key == key && values.contains($0.value) }
  }
}

/// A registered operation type that a worker offers (S128).
public struct OperationType: Hashable, Sendable {
  public var name: String
  public var version: UInt32
  /// A hash of the forms of argument and value; 0 means unknown and matches any.
  public var fingerprint: UInt64
  public init(name: String, version: UInt32 = 1, fingerprint: UInt64 = 0) {
    self.name = name
    self.version = version
    self.fingerprint = fingerprint
  }
  /// The type of functions of Python, which run in processes of an interpreter. Workers that start
  /// child processes have it; no program registers it.
  public static let python = OperationType(name: "python")

  /// Whether it is ``python``, in any version.
  public var isPython: Bool { name == Self.python.name }

  /// Whether a worker that offers `offered` can run operations of this type.
  public func isServed(by offered: OperationType) -> Bool {
    name == offered.name && version == offered.version
      && (fingerprint == 0 || offered.fingerprint == 0 || fingerprint == offered.fingerprint)
  }
}
