// What the worker says about a process it wants started: plain values, made on any thread.

import CProcess
import Glibc

/// One process to start: what to run, with what, where, and what it may use.
public struct ProcessSpecification: Sendable {
  /// What to run.
  public enum Command: Sendable, Equatable {
    /// The executable and its arguments, handed over without a shell (G38). The first element is
    /// both the file to find and the process's own name for itself.
    case arguments([String])
    /// Text for a shell, with the shell as it is to be called, such as `["/bin/sh", "-c"]`.
    case shell(String, prefix: [String])
  }

  /// What the process reads as its standard input.
  public enum Input: Sendable, Equatable {
    /// Nothing: `/dev/null`.
    case null
    /// These bytes, at most ``ProcessSpecification/inputLimit``.
    case bytes([UInt8])
    /// A file, opened for reading before the process starts.
    case file(path: String)
    /// The far end of a channel (``FrameChannel/pair()``), both to read from and to write to.
    case channel(FrameChannelEnd)
  }

  /// Where one of the output streams goes.
  public enum Output: Sendable, Equatable {
    /// Nowhere: `/dev/null`.
    case discard
    /// Into a file, written by the process itself.
    case file(OutputFile)
    /// For the error stream only: into the same file as the output.
    case sameAsOutput
  }

  /// How the kernel shares the processor between this process and others.
  public enum Scheduling: Sendable, Equatable, CaseIterable {
    /// The usual time sharing.
    case normal
    /// For work that computes and does not mind waiting.
    case batch
    /// Only when nothing else wants to run.
    case idle

    var policy: op_policy {
      switch self {
      case .normal: OP_POLICY_UNCHANGED
      case .batch: OP_POLICY_BATCH
      case .idle: OP_POLICY_IDLE
      }
    }
  }

  /// Bytes of ``Input/bytes(_:)`` at most: 16 MiB. They are kept in memory for the process.
  public static let inputLimit = 16 << 20

  public var command: Command
  /// The whole environment: nothing of the worker's own is added but the mark by which the tree is
  /// found again. Made by `OperationEnvironment.clean`.
  public var environment: [(name: String, value: String)]
  /// Absolute; nil keeps the worker's.
  public var workingDirectory: String?
  public var input: Input
  public var output: Output
  public var error: Output
  /// Bytes kept of each stream at most; nil keeps all. See ``ProcessHost/limitOutputs()``.
  public var outputLimit: Int?
  /// Added to the niceness of the worker's own class: 0...19, or below with privileges.
  public var nice: Int32
  public var scheduling: Scheduling
  public var limits: [ResourceLimit]
  /// Whether to give the process a cgroup of its own where the host can.
  public var wantsGroup: Bool
  /// Bytes of memory that the whole tree may have where the host can bound it; more kills it.
  public var memoryLimit: UInt64?
  /// Processes and threads that the tree may have at once where the host can bound it; more are
  /// refused.
  public var processLimit: UInt64?
  /// As whom the process runs, and with whose rights its files are opened, where the host is
  /// root's; nil: as the host.
  public var account: LocalAccount?
  /// Lives by the host's lease where it has one: does not start without it, and is killed by the
  /// guard when it runs out (G16).
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

  /// The executable and its arguments as the kernel takes them.
  var arguments: [String] {
    switch command {
    case .arguments(let arguments): arguments
    case .shell(let text, let prefix): prefix + [text]
    }
  }
}

/// A bound that the kernel enforces on the process and all it starts (setrlimit).
public struct ResourceLimit: Sendable, Equatable {
  public enum Kind: Sendable, Equatable, CaseIterable {
    /// Bytes of address space.
    case addressSpace
    /// Bytes of a core dump.
    case coreSize
    /// Seconds of processor time.
    case processorSeconds
    /// Bytes of any one file written.
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

  var resource: Int32 {
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
