// The content of a manifest after its shape was checked and before anything is expanded or looked
// up. The decoders fill these values, the lowering reads them. Values only.
// A declaration may still be wrong as a whole: unknown needs, cycles and sizes are found in the
// lowering.

import OpClusterModel

/// A name with the place where it was written.
/// The place is where a finding about the name is shown.
struct PlacedName: Hashable {
  var name: String
  var place: Place
}

/// The root of a manifest, without parameters: they are filled in already.
struct GraphDeclaration {
  /// nil means the file's name.
  var name: String?
  var labels: [Label] = []
  var queues: [QueueSettings] = []
  var failurePolicy = FailurePolicy.continue
  /// A percentage is taken of all operations that run.
  var maximumFailures: FailureBound?
  /// Files of the submitter that every command reads.
  var files: [ManifestNode] = []
  /// Who is told of its end.
  var notifications: [GraphNotification] = []
  /// Files that every command reads, from the command line.
  var uploads: [String] = []
  /// In the order of the text: operations, then barriers, then the operations of `finally`.
  var operations: [OperationDeclaration] = []
}

/// One template of the submission, or the joint of a group.
struct OperationDeclaration {
  /// Full, with the names of groups before it; unique in a graph that is accepted.
  var name: String
  var place: Place
  var isFinal = false
  /// Nothing for a joint, and for an operation whose work could not be decoded.
  var work = DeclaredWork.nothing
  /// In the order of the text; those of its group come last.
  var needs: [DeclaredNeed] = []
  /// nil for a plain operation.
  var elements: ElementColumns?
  /// 0 means any number at once.
  var maximumParallel: UInt32 = 0
  /// For an array or a group: the number of failures that do not stop the other elements or
  /// members.
  var maximumFailures: FailureBound?
  /// Whether more failures than that also cancel running operations; nil: the graph's `on_failure`
  /// decides.
  var failureCancelsRunning: Bool?
  /// The values that a command must write; empty: any.
  var outputs: [String] = []
  /// The files that a command must leave.
  var outputFiles: [DeclaredFile] = []
  /// Files of the submitter that a command reads.
  var ownFiles: [DeclaredFile] = []
  /// Whether it reads the files that every command reads.
  var readsGraphFiles = false
  var allowedFailures = AllowedFailures.none
  var settings: DeclaredSettings
  /// Full names of a group's members, nested groups expanded; nil for everything but a group.
  var members: [String]?
}

extension OperationDeclaration {
  /// Whether it is a call, which declares no files: those that it leaves are parts of its value, or
  /// what a function of Python names.
  var leavesValue: Bool {
    if case .call = work { true } else { false }
  }

  /// Whether files travel to it or from it.
  var handsFilesOn: Bool {
    readsGraphFiles || !outputFiles.isEmpty || !ownFiles.isEmpty
      || needs.contains { !$0.files.isEmpty }
  }
}

/// Texts are nodes, in which values have not been put in.
enum DeclaredWork {
  case nothing
  /// `run`: a text for the shell, or a list.
  case run(ManifestNode)
  case call(DeclaredCall)
  case blocks([DeclaredBlock])
}

/// The path is a node, in which values have not been put in.
struct DeclaredFile {
  var name: String
  var path: ManifestNode
}

/// The version is 1 where the manifest does not say another.
struct DeclaredCall {
  var type: OperationType
  var input: ManifestNode?
}

/// Blocks have no settings of their own: they share those of their operation.
enum DeclaredBlock {
  case run(ManifestNode)
  case call(DeclaredCall)
}

/// The policy says how the dependency must end, the match which of its elements count.
struct DeclaredNeed {
  var on: PlacedName
  var policy: EdgePolicy
  var match: GroupEdge.Match
  /// Output files of the dependency that are read.
  var files: [PlacedName] = []
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
  /// 0 means that the first loss ends it.
  var maximumLosses = Limits.lossesBeforeGivingUp
  var notBefore: NotBefore?
  var isExclusive = false
  /// Whether it need not be done again if it was done before in the same way.
  var isReusable = false
  var isReproducible = true
  /// The stores in which what it leaves is to lie.
  var replicas: UInt8 = 1
  /// From the start of an attempt; nil: none.
  var timeout: Span?
  /// TERM, by its number on Linux.
  var stopSignal: Int32 = 15
  /// nil: that of the cluster.
  var grace: Span?
  /// In the order of the text.
  var environment: [DeclaredVariable] = []
  /// nil: the folder of the submitter; a relative one starts from the manifest's.
  var workingDirectory: String?
  /// The interpreter of a shell text; nil means no interpreter, and `run` must then be a list.
  var interpreter: [String]? = CommandSpecification.standardShell
  /// The manifest chooses the shell.
  var choosesShell = false
  var standardInput: DeclaredInput?
  var standardOutput: ManifestNode?
  var standardError: ManifestNode?
  /// Empty: 0 alone.
  var successStatuses: [UInt8] = []
  /// nil: the default of a command, 1 GiB of each stream.
  var maximumOutputBytes: UInt64?
  var labels: [Label] = []

  /// A text goes in as it is; a file is named by the node.
  enum DeclaredInput {
    case text(ManifestNode)
    case file(ManifestNode)
  }
}
