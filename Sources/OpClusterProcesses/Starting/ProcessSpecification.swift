// The worker's description of a process to start: plain values, made on any thread.

import CProcess
import Glibc
import OpClusterSystem

/// One process to start: its command, streams, folder and limits.
public struct ProcessSpecification: Sendable {
  /// The command to run.
  public enum Command: Sendable, Equatable {
    /// The executable and its arguments, without a shell (G38). The first element is both the file
    /// to find and the process's own name.
    case arguments([String])
    /// A text for a shell, with the shell's command line, such as `["/bin/sh", "-c"]`.
    case shell(String, prefix: [String])
  }

  /// The standard input of the process.
  public enum Input: Sendable, Equatable {
    /// Nothing: `/dev/null`.
    case null
    /// These bytes, at most ``ProcessSpecification/inputLimit``.
    case bytes([UInt8])
    /// A file, opened for reading before the process starts.
    case file(path: String)
    /// The far end of a channel (``FrameChannel/pair()``), for reading and writing.
    case channel(FrameChannelEnd)
  }

  /// The target of an output stream.
  public enum Output: Sendable, Equatable {
    /// Nothing: `/dev/null`.
    case discard
    /// A file, written by the process itself.
    case file(OutputFile)
    /// The same file as the output; for the error stream only.
    case sameAsOutput
  }

  /// The scheduling class of the process.
  public enum Scheduling: Sendable, Equatable, CaseIterable {
    /// Normal time sharing.
    case normal
    /// For computations that tolerate waiting.
    case batch
    /// Runs only when nothing else wants to run.
    case idle

    var policy: op_policy {
      switch self {
      case .normal: OP_POLICY_UNCHANGED
      case .batch: OP_POLICY_BATCH
      case .idle: OP_POLICY_IDLE
      }
    }
  }

  /// Maximum bytes of ``Input/bytes(_:)``: 16 MiB. They are kept in memory for the process.
  public static let inputLimit = 16 << 20

  public var command: Command
  /// The whole environment. The host adds only the mark by which it finds the tree. Made by
  /// `OperationEnvironment.clean`.
  public var environment: [(name: String, value: String)]
  /// An absolute path; nil keeps the worker's.
  public var workingDirectory: String?
  public var input: Input
  public var output: Output
  public var error: Output
  /// Maximum bytes kept of each stream; nil keeps all. See ``ProcessHost/limitOutputs()``.
  public var outputLimit: Int?
  /// Added to the niceness of the worker's own class: 0...19, or negative with privileges.
  public var nice: Int32
  public var scheduling: Scheduling
  public var limits: [ResourceLimit]
  /// Whether to give the process a cgroup of its own if the host can.
  public var wantsGroup: Bool
  /// Maximum memory of the whole tree in bytes, if the host can limit it; a tree that exceeds it is
  /// killed.
  public var memoryLimit: UInt64?
  /// Maximum processes and threads of the tree, if the host can limit them; further ones are
  /// refused.
  public var processLimit: UInt64?
  /// The account that runs the process and opens its files, if the host is root's; nil: the host's.
  public var account: LocalAccount?
  /// Runs under the host's lease if it has one: does not start without it, and the guard kills it
  /// when the lease runs out (G16).
  public var isExclusive: Bool

  public init(
    command: Command,
    environment: [(name: String, value: String)] = [],
    workingDirectory: String? = nil,
    input: Input = .null,
    output: Output = .discard,
    error: Output = .discard,
    outputLimit: Int? = nil,
    nice: Int32 = 0,
    scheduling: Scheduling = .normal,
    limits: [ResourceLimit] = [],
    wantsGroup: Bool = true
  ) {
    self.command = command
    self.environment = environment
    self.workingDirectory = workingDirectory
    self.input = input
    self.output = output
    self.error = error
    self.outputLimit = outputLimit
    self.nice = nice
    self.scheduling = scheduling
    self.limits = limits
    self.wantsGroup = wantsGroup
    memoryLimit = nil
    processLimit = nil
    isExclusive = false
  }

  /// The executable and its arguments for the system call.
  var arguments: [String] {
    switch command {
    case .arguments(let arguments): arguments
    case .shell(let text, let prefix): prefix + [text]
    }
  }
}

/// A limit that the kernel enforces on the process and its descendants (setrlimit).
public struct ResourceLimit: Sendable, Equatable {
  public enum Kind: Sendable, Equatable, CaseIterable {
    /// Bytes of address space.
    case addressSpace
    /// Bytes of a core dump.
    case coreSize
    /// Seconds of processor time.
    case processorSeconds
    /// Bytes of any one written file.
    case fileSize
    /// Open descriptors.
    case openFiles
    /// Processes and threads of the same user.
    case processes
  }

  public var kind: Kind
  public var value: UInt64

  public init(_ kind: Kind, _ value: UInt64) {
    self.kind = kind
    self.value = value
  }

  fileprivate var resource: Int32 {
    switch kind {
    case .addressSpace: Int32(RLIMIT_AS.rawValue)
    case .coreSize: Int32(RLIMIT_CORE.rawValue)
    case .processorSeconds: Int32(RLIMIT_CPU.rawValue)
    case .fileSize: Int32(RLIMIT_FSIZE.rawValue)
    case .openFiles: Int32(RLIMIT_NOFILE.rawValue)
    case .processes: Int32(__RLIMIT_NPROC.rawValue)
    }
  }
}

extension ProcessSpecification {
  /// Its limits, and the descriptors that this process had before it took more for itself: programs
  /// close each that they may have, or take a number for a place in a table.
  var kernelLimits: [op_limit] {
    var limits = limits.map {
      op_limit(resource: $0.resource, value: $0.value, maximum: $0.value)
    }
    if let before = ProcessLimits.descriptorsBeforeRaising,
      !self.limits.contains(where: { $0.kind == .openFiles })
    {
      let own = ResourceLimit(.openFiles, before.current)
      limits.append(
        op_limit(resource: own.resource, value: before.current, maximum: before.maximum))
    }
    return limits
  }
}
