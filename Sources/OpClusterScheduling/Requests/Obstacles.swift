// Describes what workers lack to run operations, in words (S61). Pure; a part of `why`.

import OpClusterModel

/// The first requirement that a worker does not meet.
enum Obstacle: Hashable {
  case type(OperationType)
  case schema(OperationType)
  case cpus, memory, gpus
  case resource(String)
  case label(LabelRequirement)
  /// It reads a content of another worker, and this one has no store.
  case store
  /// The worker could run it.
  case none

  /// `has 2 cpus, it asks for 64`.
  func sentence(_ wanted: DemandClass, at worker: WorkerConversation) -> String {
    let (demand, capacity) = (wanted.demand, worker.roomForOne)
    switch self {
    case .type(let type):
      return "does not have the operation type \(type.name) version \(type.version)"
    case .schema(let type):
      return "has \(type.name)/\(type.version) with another schema; rebuild it"
    case .cpus: return "has \(capacity.cpus.shown) cpus, it asks for \(demand.cpus.shown)"
    case .memory:
      return "has \(mebibytes(capacity.memoryBytes)) of memory, it asks for "
        + mebibytesAtLeast(demand.memoryBytes)
    case .gpus: return "has \(capacity.gpus.shown) gpus, it asks for \(demand.gpus.shown)"
    case .resource(let name):
      return "has \(capacity.amount(named: name).shown) of \(name), it asks for "
        + demand.amount(named: name).shown
    case .label(let requirement):
      return "is not labelled \(requirement.key)=\(requirement.values.joined(separator: " or "))"
    case .store: return "has no store for the values that it reads; start it with --store"
    case .none: return "could run it"
    }
  }
}

extension Scheduler {
  /// The resource that all of these workers have too little of, in one sentence with the largest
  /// amount; nil if they lack different things, or something that is present or absent only.
  func commonLack(_ wanted: DemandClass, _ candidates: [UInt32]) -> String? {
    guard let first = candidates.first else { return nil }
    let obstacle = wanted.obstacle(at: conversations[first])
    let areAlike = candidates.allSatisfy { wanted.obstacle(at: conversations[$0]) == obstacle }
    guard areAlike else { return nil }
    func most<Value: Comparable>(_ value: (Resources) -> Value) -> Value {
      candidates.dropFirst().reduce(value(conversations[first].roomForOne)) {
        max($0, value(conversations[$1].roomForOne))
      }
    }
    func sentence(_ asked: String, _ most: String) -> String {
      "it asks for \(asked), and the largest worker has \(most)"
    }
    let demand = wanted.demand
    switch obstacle {
    case .cpus: return sentence("\(demand.cpus.shown) cpus", most(\.cpus).shown)
    case .memory:
      return sentence(
        "\(mebibytesAtLeast(demand.memoryBytes)) of memory", mebibytes(most(\.memoryBytes)))
    case .gpus: return sentence("\(demand.gpus.shown) gpus", most(\.gpus).shown)
    case .resource(let name):
      return sentence(
        "\(demand.amount(named: name).shown) of \(name)", most { $0.amount(named: name) }.shown)
    case .type, .schema, .label, .store, .none: return nil
    }
  }
}

extension DemandClass {
  func obstacle(at worker: WorkerConversation) -> Obstacle {
    for type in types where !worker.types.contains(where: { type.isServed(by: $0) }) {
      let isKnown = worker.types.contains { $0.name == type.name && $0.version == type.version }
      return isKnown ? .schema(type) : .type(type)
    }
    let room = worker.roomForOne
    if demand.cpus > room.cpus { return .cpus }
    if demand.memoryBytes > room.memoryBytes { return .memory }
    if demand.gpus > room.gpus { return .gpus }
    for wanted in demand.custom where wanted.amount > room.amount(named: wanted.name) {
      return .resource(wanted.name)
    }
    for requirement in requirements where !requirement.isMet(by: worker.labels) {
      return .label(requirement)
    }
    return .none
  }
}

extension ResourceAmount {
  /// Without needless decimals: `64`, `0.5`.
  fileprivate var shown: String {
    tenThousandths % 10_000 == 0 ? "\(tenThousandths / 10_000)" : "\(units)"
  }
}

private func mebibytes(_ bytes: Int64) -> String { "\(bytes >> 20) MiB" }

/// Rounded up, so that a demand never looks equal to a smaller capacity.
private func mebibytesAtLeast(_ bytes: Int64) -> String {
  "\((bytes >> 20) + (bytes & 0xF_FFFF == 0 ? 0 : 1)) MiB"
}
