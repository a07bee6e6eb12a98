// Submissions and commands by chance.

package import OpClusterModel

extension MessageGenerator {
  package mutating func retry() -> RetryPolicy {
    RetryPolicy(
      maximum: UInt32(below(101)),
      reasons: many { generator in
        switch generator.below(8) {
        case 0: .any
        case 1: .failed
        case 2: .timeout
        case 3: .outOfMemory
        case 4: .lost
        case 5: .anySignal
        case 6: .signal(generator.number())
        default: .exit(generator.number(), generator.number())
        }
      }, backoff: span(), backoffPercent: number(), maximumBackoff: span(),
      avoidsWorker: bool())
  }

  package mutating func template() -> OperationTemplate {
    let count = UInt32(below(3) == 0 ? 1 : below(20))
    var template = OperationTemplate(name: text(), count: count, work: work())
    template.isArray = bool()
    template.indexRuns = indexRuns()
    template.payload = bytes()
    if bool() { for _ in 0..<count { template.elementArguments.append(bytes(6)) } }
    template.queue = number()
    template.priority = member(Priority.self)
    template.qos = maybe { $0.member(QualityOfService.self) }
    if bool() { template.demand = resources() }
    template.requirements = requirements()
    if bool() { template.retry = retry() }
    if bool() { template.maximumLosses = number() }
    template.maximumParallel = number()
    switch below(3) {
    case 0: template.allowedFailures = .none
    case 1: template.allowedFailures = .all
    default: template.allowedFailures = .exitStatuses(many { $0.number() })
    }
    template.isFinal = bool()
    template.isBarrier = bool()
    template.wantsInputs = bool()
    template.timeout = maybe { $0.span() }
    template.grace = maybe { $0.span() }
    template.isHeld = bool()
    switch below(3) {
    case 0: template.notBefore = .after(span())
    case 1: template.notBefore = .at(WallTime(milliseconds: number()))
    default: break
    }
    template.fillsInput = bool()
    template.isExclusive = bool()
    template.labels = labels()
    if below(8) == 0 { template.secrets = many { $0.number() } }
    template.inputFiles = inputFiles()
    template.isReusable = below(4) == 0
    template.isReproducible = below(4) > 0
    if below(4) == 0 { template.replicas = UInt8(1 + below(Int(Limits.replicas))) }
    if below(6) == 0 {
      for _ in 0..<(bool() ? 1 : template.count) { template.ownFiles.append(bytes()) }
    }
    return template
  }

  package mutating func inputFiles() -> [InputFile] {
    many { generator in
      if generator.below(4) == 0 { return .own(generator.fileName()) }
      return InputFile(
        operation: generator.text(), file: generator.fileName(), folder: generator.fileName(),
        isByIndex: generator.bool())
    }
  }

  /// A name that is valid in a folder.
  package mutating func fileName() -> String { "f\(below(1_000)).\(below(3))" }

  package mutating func groupEdge() -> GroupEdge {
    GroupEdge(
      from: number(), to: number(), policy: member(EdgePolicy.self),
      match: bool() ? .all : .sameIndex)
  }

  package mutating func elementEdges() -> ElementEdges {
    let count = below(6)
    let policies = bool() ? 1 : count
    return ElementEdges(
      from: (0..<count).map { _ in number() }, to: (0..<count).map { _ in number() },
      policies: (0..<policies).map { _ in member(EdgePolicy.self) })
  }

  package mutating func submission() -> GraphSubmission {
    var submission = GraphSubmission(key: SubmissionKey(text()), name: text())
    submission.templates = many { $0.template() }
    submission.groupEdges = many { $0.groupEdge() }
    submission.elementEdges = elementEdges()
    submission.externalEdges = many { generator in
      ExternalEdge(
        from: generator.operation(), to: generator.number(),
        policy: generator.member(EdgePolicy.self))
    }
    submission.queues = many { generator in
      generator.bool() ? .named(generator.text()) : .own(generator.settings())
    }
    submission.failurePolicy = member(FailurePolicy.self)
    submission.failureScopes = many { generator in
      FailureScope(
        first: generator.number(), count: generator.number(), maximumFailures: generator.number(),
        cancelsRunning: generator.bool())
    }
    submission.maximumFailures = maybe { $0.number() }
    submission.isSuspended = bool()
    submission.isDeclaredOnly = bool()
    submission.allowsCycles = bool()
    submission.labels = labels()
    submission.origin = text()
    submission.continued = maybe { generator in
      let reused = generator.runs()
      return ContinuedGraph(graph: reused.graph, reused: reused)
    }
    submission.secrets = many { $0.text() }
    if below(4) == 0 { submission.recomputes = operation() }
    return submission
  }

  package mutating func block() -> OperationBlock {
    switch below(3) {
    case 0: .command(command())
    case 1: .call(type(), argument: bytes())
    default: .filledCall(type(), callInput())
    }
  }

  package mutating func callInput() -> CallInput {
    CallInput(
      segments: many { generator in
        generator.bool()
          ? .json(generator.text())
          : .value(generator.commandText(), generator.member(CallInput.Form.self))
      }, elementKeys: many { $0.text() })
  }

  package mutating func blockResult() -> BlockResult {
    switch below(3) {
    case 0: .succeeded(bytes())
    case 1: .failed(text())
    default: .skipped
    }
  }

  package mutating func commandText() -> CommandText {
    CommandText(
      segments: many { generator in
        let quoting: CommandText.Quoting = generator.bool() ? .none : .shell
        return switch generator.below(6) {
        case 0: .literal(generator.text())
        case 4: .value(.known(generator.text()), quoting: quoting)
        case 5: .value(.secret(generator.below(1_000_000)), quoting: quoting)
        case 1: .value(.index, quoting: quoting)
        case 2: .value(.element(generator.below(1_000_000)), quoting: quoting)
        default:
          .value(.output(operation: generator.text(), key: generator.text()), quoting: quoting)
        }
      })
  }

  package mutating func command() -> CommandSpecification {
    var command = CommandSpecification(
      form: bool()
        ? .arguments(many { $0.commandText() })
        : .shell(interpreter: many { $0.text() }, text: commandText()))
    command.environment = many { .init(name: $0.text(), value: $0.commandText()) }
    command.workingDirectory = text()
    switch below(3) {
    case 0: command.standardInput = .nothing
    case 1: command.standardInput = .text(commandText())
    default: command.standardInput = .file(commandText())
    }
    command.standardOutput = maybe { $0.commandText() }
    command.standardError = maybe { $0.commandText() }
    command.successStatuses = bytes()
    command.timeout = maybe { $0.span() }
    command.stopSignal = number()
    command.grace = maybe { $0.span() }
    command.outputs = many { $0.text() }
    command.outputFiles = many { .init(name: $0.fileName(), path: $0.commandText()) }
    command.elementKeys = many { $0.text() }
    command.maximumOutputBytes = number()
    return command
  }
}
