// Converts a command ⇄ `Command`. The client makes it, the worker reads it, the coordinator treats
// it as opaque bytes.
// `CommandSpecification` is complete: a worker needs no manifest and no file of the client to run
// it. Its texts have places for what is known only at the start of an attempt.

import OpClusterModel

/// Fields are those of `Command` in `proto/opcluster/v1/submission.proto`.
extension CommandSpecification: WireConvertible {
  var proto: ProtoCommand {
    var proto = ProtoCommand()
    switch form {
    case .arguments(let arguments):
      proto.form = .arguments
      proto.arguments = arguments.map(\.proto)
    // A shell's text is the last argument of its interpreter, and the only entry of `arguments`.
    case .shell(let interpreter, let text):
      proto.form = .shell
      proto.interpreter = interpreter
      proto.arguments = [text.proto]
    }
    proto.environment = environment.map(\.proto)
    proto.workingDirectory = workingDirectory
    (proto.standardInput, proto.standardInputText) = standardInput.protos
    if let standardOutput { proto.standardOutput = standardOutput.proto }
    if let standardError { proto.standardError = standardError.proto }
    // Exit statuses are bytes, so the column is a string of bytes; empty means 0 alone.
    proto.successStatuses = data(successStatuses)
    if let timeout { proto.timeoutNanoseconds = timeout.nanoseconds }
    proto.stopSignal = stopSignal
    if let grace { proto.graceNanoseconds = grace.nanoseconds }
    proto.outputs = outputs
    if !outputFiles.isEmpty { proto.outputFiles = outputFiles.map(\.proto) }
    proto.elementKeys = elementKeys
    proto.maximumOutputBytes = maximumOutputBytes
    return proto
  }

  /// The limit of the payload bounds every part, so the parts have none of their own.
  /// The signal to stop is taken as it is: only the worker's system knows which there are.
  init(proto: ProtoCommand) throws(WireError) {
    let limit = Limits.payloadBytes
    self.init(form: try Form(proto))
    environment = try list(proto.environment, limit, "command.environment")
    workingDirectory = proto.workingDirectory
    standardInput = try StandardInput(proto)
    standardOutput = proto.hasStandardOutput ? try CommandText(proto: proto.standardOutput) : nil
    standardError = proto.hasStandardError ? try CommandText(proto: proto.standardError) : nil
    // There are 256 exit statuses.
    successStatuses = try opaque(proto.successStatuses, 256, "command.success_statuses")
    timeout =
      proto.hasTimeoutNanoseconds
      ? try span(proto.timeoutNanoseconds, "command.timeout") : nil
    stopSignal = proto.stopSignal
    grace =
      proto.hasGraceNanoseconds ? try span(proto.graceNanoseconds, "command.grace") : nil
    outputs = proto.outputs
    outputFiles = try list(
      proto.outputFiles, Limits.outputFilesPerOperation, "command.output_files")
    elementKeys = proto.elementKeys
    maximumOutputBytes = proto.maximumOutputBytes
  }
}

extension CommandSpecification.OutputFile: WireConvertible {
  var proto: ProtoOutputFile {
    var proto = ProtoOutputFile()
    proto.name = name
    proto.path = path.proto
    return proto
  }

  /// The name becomes one on its readers' disks, so that it must not leave its folder there.
  init(proto: ProtoOutputFile) throws(WireError) {
    guard !proto.name.contains("/"), RelativePath.isValid(proto.name) else {
      throw WireError("output_file.name", .outOfRange)
    }
    self.init(name: proto.name, path: try CommandText(proto: proto.path))
  }
}

/// The form decides what the arguments are: all of them, or one text for an interpreter.
extension CommandSpecification.Form {
  /// Throws for a form of a later release, since a guess would run another command.
  fileprivate init(_ proto: ProtoCommand) throws(WireError) {
    let arguments: [CommandText] = try list(
      proto.arguments, Limits.payloadBytes, "command.arguments")
    switch proto.form {
    case .arguments: self = .arguments(arguments)
    case .shell:
      try checkEqual(arguments.count, 1, "command.arguments")
      self = .shell(interpreter: proto.interpreter, text: arguments[0])
    case .unspecified, .UNRECOGNIZED:
      throw WireError("command.form", .unknownValue(proto.form.rawValue))
    }
  }
}

/// A text goes to the standard input as it is, a file is named by it. Nothing is an input that has
/// ended already.
extension CommandSpecification.StandardInput {
  fileprivate var protos: (ProtoCommand.StandardInput, ProtoCommandText) {
    switch self {
    case .nothing: (.nothing, ProtoCommandText())
    case .text(let text): (.text, text.proto)
    case .file(let text): (.file, text.proto)
    }
  }

  /// Without a kind the command reads nothing, and never waits for a terminal.
  fileprivate init(_ proto: ProtoCommand) throws(WireError) {
    switch proto.standardInput {
    case .unspecified, .nothing: self = .nothing
    case .text: self = .text(try CommandText(proto: proto.standardInputText))
    case .file: self = .file(try CommandText(proto: proto.standardInputText))
    case .UNRECOGNIZED(let number):
      throw WireError("command.standard_input", .unknownValue(number))
    }
  }
}

/// Names are not checked: the limit of the whole bounds them.
extension CommandSpecification.Variable: WireConvertible {
  var proto: ProtoCommand.Variable {
    var proto = ProtoCommand.Variable()
    proto.name = name
    proto.value = value.proto
    return proto
  }
  init(proto: ProtoCommand.Variable) throws(WireError) {
    self.init(name: proto.name, value: try CommandText(proto: proto.value))
  }
}

/// Literals and values in order; an empty list is an empty text.
extension CommandText: WireConvertible {
  var proto: ProtoCommandText {
    var proto = ProtoCommandText()
    proto.segments = segments.map(\.proto)
    return proto
  }
  init(proto: ProtoCommandText) throws(WireError) {
    self.init(segments: try list(proto.segments, Limits.payloadBytes, "text.segments"))
  }
}

/// Only a value can be quoted: a literal is the author's own text.
extension CommandText.Segment: WireConvertible {
  var proto: ProtoCommandText.Segment {
    var proto = ProtoCommandText.Segment()
    switch self {
    case .literal(let text): proto.literal = text
    case .value(let value, let quoting):
      proto.quotedForShell = quoting == .shell
      switch value {
      case .index: proto.index = ProtoCommandText.Index()
      // Positions are small; a wrong one is clamped, and then names no element or secret.
      case .element(let position): proto.element = UInt32(clamping: position)
      case .output(let operation, let key):
        var output = ProtoCommandText.Output()
        output.operation = operation
        output.key = key
        proto.output = output
      case .known(let text): proto.known = text
      case .secret(let position): proto.secret = UInt32(clamping: position)
      }
    }
    return proto
  }

  /// Throws `missing` for a value of a later release. It must not become an empty text: a command
  /// without its value may do something else.
  init(proto: ProtoCommandText.Segment) throws(WireError) {
    let quoting: CommandText.Quoting = proto.quotedForShell ? .shell : .none
    switch proto.value {
    case .literal(let text): self = .literal(text)
    case .index: self = .value(.index, quoting: quoting)
    case .element(let position): self = .value(.element(Int(position)), quoting: quoting)
    case .output(let output):
      self = .value(.output(operation: output.operation, key: output.key), quoting: quoting)
    case .known(let text): self = .value(.known(text), quoting: quoting)
    case .secret(let position): self = .value(.secret(Int(position)), quoting: quoting)
    case nil: throw WireError("text.segments.value", .missing)
    }
  }
}
