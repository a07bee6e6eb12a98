// Builds the environment of a command. Part of `CommandRunner`.

package import OpClusterModel
import OpClusterProcesses

extension CommandRunner {
  /// Returns the clean environment with the variables that Manifest.md promises.
  func environment(
    _ job: Job, _ command: CommandSpecification, _ values: AttemptValues, _ slot: SlotPaths,
    inputs: String, _ references: [(name: String, value: String)]
  ) throws(AttemptProblem) -> [(name: String, value: String)] {
    let (operation, announcement) = (job.attempt.operation, job.announcement)
    let demand = announcement.demand
    var variables: [(name: String, value: String)] = [
      ("OP_GRAPH", String(operation.graph.number)), ("OP_NAME", announcement.name),
      ("OP_QUEUE", job.queueName), ("OP_ATTEMPT", String(job.run)),
      ("OP_CPUS", Self.text(demand.cpus)),
      ("OP_MEMORY_BYTES", String(demand.memoryBytes)), ("OP_SCRATCH", slot.folder),
      ("OP_OUTPUT", slot.values), ("OP_CANCELLED", slot.cancelled),
      (
        "OP_FENCE",
        "\(fence)-\(operation.graph.number).\(operation.index).\(job.attempt.attempt)"
      ),
    ]
    if announcement.isArray { variables.append(("OP_INDEX", String(values.index))) }
    if !announcement.inputFiles.isEmpty {
      variables.append(("OP_INPUTS", AttemptStore.filesFolder(in: inputs)))
    }
    if let parent = job.traceParent { variables.append(("TRACEPARENT", "\(parent)")) }
    variables += job.gpuVariables
    for (key, value) in zip(command.elementKeys, values.elements) {
      variables.append((key == "item" ? "OP_ITEM" : Self.variableName(key), value))
    }
    for variable in command.environment {
      variables.append((variable.name, try values.render(variable.value)))
    }
    // The references come last, so that nothing replaces them.
    variables += references
    do throws(OperationEnvironment.Refusal) {
      return try OperationEnvironment.clean(
        given: variables, home: slot.account?.home ?? home, user: slot.account?.name ?? user,
        temporaryFolder: slot.folder)
    } catch {
      throw AttemptProblem(cause: .cannotStart, message: error.description)
    }
  }

  /// Returns `OP_MATRIX_<KEY>`: capitals, digits and `_`.
  static func variableName(_ key: String) -> String {
    "OP_MATRIX_"
      + String(key.uppercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
  }

  /// Formats `2` or `0.5`.
  package static func text(_ amount: ResourceAmount) -> String {
    amount.tenThousandths % 10_000 == 0
      ? String(amount.tenThousandths / 10_000) : String(amount.units)
  }
}
