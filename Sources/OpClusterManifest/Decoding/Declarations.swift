// What a manifest says, after its shape has been checked and before anything is expanded or
// looked up. Filled by the decoders, read by the lowering. Values only.

import OpClusterModel

/// A name with the place where it was written.
struct PlacedName: Hashable {
  var name: String
  var place: Place
}

struct GraphDeclaration {
  var name: String?
  var labels: [Label] = []
  var queues: [QueueSettings] = []
  var failurePolicy = FailurePolicy.continue
  var maximumFailures: FailureBound?
  /// In the order of the text: operations, then barriers, then those of `finally`.
  var operations: [OperationDeclaration] = []

}

/// How many failures are not too many.
enum FailureBound {
  case count(UInt32)
  case percent(Int)

  func count(of total: Int) -> UInt32 {
    switch self {
    case .count(let count): count
    case .percent(let percent): UInt32(total * percent / 100)
    }
  }
}

struct OperationDeclaration {
  var name: String
  var place: Place
  var isFinal = false
  var work = DeclaredWork.nothing
  var needs: [DeclaredNeed] = []
  var elements: ElementColumns?
  var maximumParallel: UInt32 = 0
  /// Of an array, or of a group's members: how many failures do not stop the others.
  var maximumFailures: FailureBound?
  /// More than these cancel what runs, too; nil: as the graph's `on_failure` says.
  var failureCancelsRunning: Bool?
  var outputs: [String] = []
  var allowedFailures = AllowedFailures.none
  var settings: DeclaredSettings
  /// Full names of what a group holds, groups inside opened; nil for anything but a group.
  var members: [String]?
}

enum DeclaredWork {
  case nothing
  /// `run`: a text for the shell, or a list.
  case run(ManifestNode)
  case call(DeclaredCall)
  case blocks([DeclaredBlock])
}

struct DeclaredCall {
  var type: OperationType
  var input: ManifestNode?
}

enum DeclaredBlock {
  case run(ManifestNode)
  case call(DeclaredCall)
}

struct DeclaredNeed {
  var on: PlacedName
  var policy: EdgePolicy
  var match: GroupEdge.Match
  /// As the manifest says it; `on` is the full name, once it is known to mean a member of a group.
  let written: String
  var isResolved: Bool

  init(
    on: PlacedName, policy: EdgePolicy, match: GroupEdge.Match, isResolved: Bool = false
  ) {
    self.on = on
    self.policy = policy
    self.match = match
    self.isResolved = isResolved
    written = on.name
  }
}

/// A variable of the environment of commands.
struct DeclaredVariable {
  var name: String
  var value: Value

  enum Value {
    /// It may hold what is known only later.
    case text(ManifestNode)
    /// The submitter's own, as it is.
    case inherited(String)
    /// Nobody is told but the worker.
    case secret(String)
  }
}

/// What `defaults` and an operation can both say. Mappings (env, labels, resources, require,
/// cancel) are merged key by key, everything else is replaced as a whole.
struct DeclaredSettings {
  var queue: PlacedName?
  var priority = Priority.normal
  var qos: QualityOfService?
  var demand = Resources()
  var requirements: [LabelRequirement] = []
  var retry = RetryPolicy.never
  var maximumLosses = Limits.lossesBeforeGivingUp
  var notBefore: NotBefore?
  var isExclusive = false
  var timeout: Span?
  var stopSignal: Int32 = 15
  var grace: Span?
  /// In the order of the text.
  var environment: [DeclaredVariable] = []
  var workingDirectory: String?
  /// Of a text; nil: none, so that there can be no text.
  var interpreter: [String]? = CommandSpecification.standardShell
  /// Somebody has chosen it.
  var choosesShell = false
  var standardInput: DeclaredInput?
  var standardOutput: ManifestNode?
  var standardError: ManifestNode?
  var successStatuses: [UInt8] = []
  var maximumOutputBytes: UInt64?
  var labels: [Label] = []

  enum DeclaredInput {
    case text(ManifestNode)
    case file(ManifestNode)
  }
}
