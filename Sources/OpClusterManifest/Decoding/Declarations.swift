// The content of a manifest after its shape was checked and before anything is expanded or looked
// up. The decoders fill these values, the lowering reads them. Values only.

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
  /// In the order of the text: operations, then barriers, then the operations of `finally`.
  var operations: [OperationDeclaration] = []
}

struct OperationDeclaration {
  var name: String
  var place: Place
  var isFinal = false
  var work = DeclaredWork.nothing
  var needs: [DeclaredNeed] = []
  var elements: ElementColumns?
  var maximumParallel: UInt32 = 0
  /// For an array or a group: the number of failures that do not stop the other elements or
  /// members.
  var maximumFailures: FailureBound?
  /// Whether more failures than that also cancel running operations; nil: the graph's `on_failure`
  /// decides.
  var failureCancelsRunning: Bool?
  var outputs: [String] = []
  var allowedFailures = AllowedFailures.none
  var settings: DeclaredSettings
  /// Full names of a group's members, nested groups expanded; nil for everything but a group.
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
  /// The name as the manifest writes it. `on` becomes the full name once it is resolved to a member
  /// of a group.
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

/// Settings that both `defaults` and an operation can have. Mappings (env, labels, resources,
/// require, cancel) merge key by key; an operation replaces everything else as a whole.
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
  /// The interpreter of a shell text; nil means no interpreter, and `run` must then be a list.
  var interpreter: [String]? = CommandSpecification.standardShell
  /// The manifest chooses the shell.
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
