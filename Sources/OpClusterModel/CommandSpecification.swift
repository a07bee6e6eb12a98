// What a command operation runs. The client makes it, the worker reads it; to the coordinator it
// is opaque (the payload of a template).

/// A command and everything a worker needs to run it.
public struct CommandSpecification: Hashable, Sendable {
  public var form: Form
  public var environment: [Variable]
  /// Absolute, or empty: the attempt's scratch folder.
  public var workingDirectory: String
  public var standardInput: StandardInput
  /// Where the streams go (`OutputPath`); nil: the attempt's own log file in the worker's scratch.
  public var standardOutput: CommandText?
  public var standardError: CommandText?
  /// Exit statuses that count as success; empty means 0 alone.
  public var successStatuses: [UInt8]
  /// nil: as long as it takes (G21).
  public var timeout: Span?
  /// What asks it to stop.
  public var stopSignal: Int32
  /// From asking to KILL; nil: the cluster's (`Timing.grace`).
  public var grace: Span?
  /// Keys that it must write to `OP_OUTPUT`; any other keys may be written, too.
  public var outputs: [String]
  /// Per-element values by position in the element's argument: `item`, or the matrix keys.
  public var elementKeys: [String]
  /// Bytes kept of each stream; more is cut with a marker (G26).
  public var maximumOutputBytes: UInt64

  public enum Form: Hashable, Sendable {
    /// Executed directly, the first being the program.
    case arguments([CommandText])
    /// Given as the last argument to the interpreter, such as ``standardShell``.
    case shell(interpreter: [String], text: CommandText)
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

/// A text with places for values that are known only when the attempt starts. What the client
/// already knows (parameters) is literal by then.
public struct CommandText: Hashable, Sendable {
  public var segments: [Segment]
  public init(_ literal: String) { segments = literal.isEmpty ? [] : [.literal(literal)] }
  public init(segments: [Segment]) { self.segments = segments }

  public enum Segment: Hashable, Sendable {
    case literal(String)
    case value(Value, quoting: Quoting)
  }
  public enum Value: Hashable, Sendable {
    /// The element's index as people count it (the n of `12/name/n`).
    case index
    /// The value at a position of `elementKeys`.
    case element(Int)
    /// `${{ needs.OPERATION.outputs.KEY }}`; an array's elements give their values joined by
    /// a space, each quoted.
    case output(operation: String, key: String)
    /// Known to the client already, and yet no part of the text: a parameter in shell text, which
    /// must not be parsed by the shell.
    case known(String)
    /// A value that nobody but the worker is told: a position of `TemplateAnnouncement.secrets`.
    case secret(Int)
  }
  public enum Quoting: UInt8, Sendable {
    /// As it is: arguments, environment, `raw(…)`.
    case none = 0
    /// In the text of a shell, where a word or a part of one stands outside of quotes. The worker
    /// gives the value by the environment: no shell ever parses it.
    case shell = 1
  }
}

extension CommandSpecification {
  /// What reads a shell text unless somebody says otherwise: it ends at the first command that
  /// fails.
  public static let standardShell = ["/bin/sh", "-e", "-c"]
}
