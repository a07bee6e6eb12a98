// The command of an operation, the payload of a template: from client to worker, opaque between.

/// A command with everything that a worker needs to run it.
public struct CommandSpecification: Hashable, Sendable {
  public var form: Form
  public var environment: [Variable]
  /// An absolute path; empty means the attempt's scratch folder.
  public var workingDirectory: String
  public var standardInput: StandardInput
  /// The files of the streams (`OutputPath`); nil: the attempt's log files at the worker.
  public var standardOutput: CommandText?
  public var standardError: CommandText?
  /// Exit statuses that count as success; empty means only 0.
  public var successStatuses: [UInt8]
  /// The time limit; nil: none (G21).
  public var timeout: Span?
  /// The signal that asks the command to stop.
  public var stopSignal: Int32
  /// The time from the stop signal to KILL; nil: the cluster's (`Timing.grace`).
  public var grace: Span?
  /// Keys that the command must write to `OP_OUTPUT`; it may write others, too.
  public var outputs: [String]
  /// Files that the command leaves for others, at most `Limits.outputFilesPerOperation`.
  public var outputFiles: [OutputFile] = []
  /// Keys of per-element values by position in the element's argument: `item`, or the matrix keys.
  public var elementKeys: [String]
  /// Bytes kept of each stream; the rest is cut with a marker (G26).
  public var maximumOutputBytes: UInt64

  public enum Form: Hashable, Sendable {
    /// The program and its arguments, executed directly.
    case arguments([CommandText])
    /// A text that is the last argument of the interpreter, such as ``standardShell``.
    case shell(interpreter: [String], text: CommandText)
  }
  public struct OutputFile: Hashable, Sendable {
    public var name: String
    /// A path or a pattern with `*`, `?` or `[…]`, from the working directory.
    public var path: CommandText
    public init(name: String, path: CommandText) {
      self.name = name
      self.path = path
    }
  }
  public struct Variable: Hashable, Sendable {
    public var name: String
    public var value: CommandText
    public init(name: String, value: CommandText) {
      self.name = name
      self.value = value
    }
  }
  public enum StandardInput: Hashable, Sendable {
    case nothing
    case text(CommandText)
    case file(CommandText)
  }
  public init(form: Form) {
    self.form = form
    environment = []
    workingDirectory = ""
    standardInput = .nothing
    standardOutput = nil
    standardError = nil
    successStatuses = []
    timeout = nil
    stopSignal = 15
    grace = nil
    outputs = []
    elementKeys = []
    maximumOutputBytes = 1 << 30
  }
}

/// A text with places for values that are known only when the attempt starts. Values that the
/// client knows (parameters) are literal.
public struct CommandText: Hashable, Sendable {
  public var segments: [Segment]
  public init(_ literal: String) { segments = literal.isEmpty ? [] : [.literal(literal)] }
  public init(segments: [Segment]) { self.segments = segments }

  public enum Segment: Hashable, Sendable {
    case literal(String)
    case value(Value, quoting: Quoting)
  }
  public enum Value: Hashable, Sendable {
    /// The element's shown index (the n of `12/name/n`).
    case index
    /// The value at this position of `elementKeys`.
    case element(Int)
    /// `${{ needs.OPERATION.outputs.KEY }}`; of an array, all values, quoted, with spaces.
    case output(operation: String, key: String)
    /// A value that the client knows and that is no part of the text: a parameter in a shell text,
    /// which the shell must not parse.
    case known(String)
    /// A value that only the worker receives: a position of `TemplateAnnouncement.secrets`.
    case secret(Int)
  }
  public enum Quoting: UInt8, Sendable {
    /// The value is inserted unchanged: arguments, environment, `raw(…)`.
    case none = 0
    /// The value is a word or a part of one in a shell text, outside of quotes. The worker passes
    /// it in the environment, so no shell ever parses it.
    case shell = 1
  }
}

extension CommandSpecification {
  /// The default interpreter of shell texts: it ends at the first failing command.
  public static let standardShell = ["/bin/sh", "-e", "-c"]
}
