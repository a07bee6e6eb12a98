// Converts between words and bytes. Everything in OpCluster's own format enters and leaves a
// process here; generated types stay inside this module. Pure functions for any thread.

public import OpClusterModel
import SwiftProtobuf

/// Encodes words to bytes and decodes them. Each `decode…` returns a value equal to the one that
/// `encode` got, except that `encode` clips free texts to their limit. Decoders throw nothing but
/// `WireError`, for any bytes (G33), and ignore unknown fields (G32).
public enum Wire {
  // Conversations: at most `Limits.messageBytes` per message.
  public static func encode(_ message: WorkerMessage) -> [UInt8] { bytes(of: message.proto) }
  public static func encode(_ message: ClientMessage) -> [UInt8] { bytes(of: message.proto) }
  /// - Parameter wording: The words of advice for peers that do not know its code (G32).
  public static func encode(
    _ message: CoordinatorMessage, wording: (Advice) -> String
  ) -> [UInt8] {
    bytes(of: message.proto(wording))
  }
  /// - Parameter wording: The words of advice for peers that do not know its code (G32).
  public static func encode(_ answer: ClientAnswer, wording: (Advice) -> String) -> [UInt8] {
    bytes(of: answer.proto(wording))
  }

  public static func decodeWorkerMessage(_ bytes: [UInt8]) throws(WireError) -> WorkerMessage {
    try received(bytes, .workerMessage, "worker message")
  }
  public static func decodeCoordinatorMessage(
    _ bytes: [UInt8]
  ) throws(WireError) -> CoordinatorMessage {
    try received(bytes, .coordinatorMessage, "coordinator message")
  }
  public static func decodeClientMessage(_ bytes: [UInt8]) throws(WireError) -> ClientMessage {
    try received(bytes, .clientMessage, "client message")
  }
  public static func decodeClientAnswer(_ bytes: [UInt8]) throws(WireError) -> ClientAnswer {
    try received(bytes, .any, "client answer")
  }

  // The coordinator's storage: no limit on size.
  /// Encodes the body of one journal turn.
  ///
  /// - Parameter submissions: The submissions of the turn that are encoded already. Encoding a
  ///   large submission takes longer than the rest of the turn.
  public static func encode(
    records: [Record], submissions: [GraphID: [UInt8]] = [:]
  ) -> [UInt8] {
    bytes(of: ProtoTurn(records, submissions: submissions))
  }
  public static func decodeRecords(_ bytes: [UInt8]) throws(WireError) -> [Record] {
    try parsed(ProtoTurn.self, bytes, "turn").words()
  }
  /// Encodes the body of an entry of the event log.
  public static func encode(events: [Event]) -> [UInt8] { bytes(of: ProtoEvents(events)) }
  /// Expands runs to single events; at most `Limits.operationsPerGraph` of them.
  public static func decodeEvents(_ bytes: [UInt8]) throws(WireError) -> [Event] {
    try parsed(ProtoEvents.self, bytes, "events").words(Limits.operationsPerGraph)
  }
  public static func encode(eventRuns: [EventRun]) -> [UInt8] {
    bytes(of: ProtoEvents(runs: eventRuns))
  }
  public static func decodeEventRuns(_ bytes: [UInt8]) throws(WireError) -> [EventRun] {
    try parsed(ProtoEvents.self, bytes, "events").runs(Limits.operationsPerGraph)
  }
  /// Encodes lines of the history of attempts.
  public static func encode(history: [AttemptHistory]) -> [UInt8] {
    bytes(of: ProtoAttemptHistories(history))
  }
  public static func decodeHistory(_ bytes: [UInt8]) throws(WireError) -> [AttemptHistory] {
    try parsed(ProtoAttemptHistories.self, bytes, "history").words(Limits.operationsPerGraph)
  }
  public static func encode(graphRow: GraphRow) -> [UInt8] { bytes(of: graphRow.proto) }
  public static func decodeGraphRow(_ bytes: [UInt8]) throws(WireError) -> GraphRow {
    try GraphRow(proto: parsed(ProtoGraphRow.self, bytes, "graph row"))
  }
  public static func encode(operationRow: OperationRow) -> [UInt8] {
    bytes(of: operationRow.proto)
  }
  public static func decodeOperationRow(_ bytes: [UInt8]) throws(WireError) -> OperationRow {
    try OperationRow(proto: parsed(ProtoOperationRow.self, bytes, "operation row"))
  }

  // Payloads that are opaque to the coordinator.
  public static func encode(submission: GraphSubmission) -> [UInt8] {
    bytes(of: submission.proto)
  }
  public static func decodeSubmission(_ bytes: [UInt8]) throws(WireError) -> GraphSubmission {
    try GraphSubmission(proto: parsed(ProtoSubmission.self, bytes, "submission"))
  }
  /// Encodes the payload of a template whose work is a command.
  public static func encode(command: CommandSpecification) -> [UInt8] {
    bytes(of: command.proto)
  }
  /// At most `Limits.payloadBytes`.
  public static func decodeCommand(_ bytes: [UInt8]) throws(WireError) -> CommandSpecification {
    try checkCount(bytes.count, Limits.payloadBytes, "command")
    return try CommandSpecification(proto: parsed(ProtoCommand.self, bytes, "command"))
  }
  /// Encodes the payload of a template whose work is a call that `fillsInput`.
  public static func encode(callInput: CallInput) -> [UInt8] { bytes(of: callInput.proto) }
  /// At most `Limits.payloadBytes`.
  public static func decodeCallInput(_ bytes: [UInt8]) throws(WireError) -> CallInput {
    try checkCount(bytes.count, Limits.payloadBytes, "input")
    return try CallInput(proto: parsed(ProtoCallInput.self, bytes, "input"))
  }
  /// Encodes the payload of a template whose work is blocks, or blocks that are added later.
  /// Concatenated encodings decode as one list of all blocks, in order (S120).
  public static func encode(blocks: [OperationBlock]) -> [UInt8] {
    bytes(of: ProtoBlocks(blocks))
  }
  /// Accepts at most `Limits.blocksPerOperation` blocks and `Limits.payloadBytes` bytes. Both
  /// limits cover the blocks of the template and the added ones together.
  public static func decodeBlocks(_ bytes: [UInt8]) throws(WireError) -> [OperationBlock] {
    try checkCount(bytes.count, Limits.payloadBytes, "blocks")
    try MessageBounds.check(bytes, .blocks, "blocks")
    return try parsed(ProtoBlocks.self, bytes, "blocks").words()
  }
  /// Encodes the argument of an array's element whose work is blocks: the values for its commands
  /// (`ElementValues`). The encodings of blocks that are added later may be appended to it.
  public static func encode(blockElement values: [UInt8]) -> [UInt8] {
    var proto = ProtoBlocks()
    proto.element = data(values)
    return bytes(of: proto)
  }
  /// Accepts at most `Limits.elementArgumentBytes`. Returns an empty list if the bytes hold no
  /// values.
  public static func decodeBlockElement(_ bytes: [UInt8]) throws(WireError) -> [UInt8] {
    try checkCount(bytes.count, Limits.payloadBytes, "blocks")
    try MessageBounds.check(bytes, .blocks, "blocks")
    return try opaque(
      parsed(ProtoBlocks.self, bytes, "blocks").element, Limits.elementArgumentBytes,
      "blocks.element")
  }
  /// Encodes the output of a block operation (S123).
  public static func encode(blockResults: [BlockResult]) -> [UInt8] {
    bytes(of: ProtoBlockResults(blockResults))
  }
  /// At most `Limits.outputBytes` and `Limits.blocksPerOperation`.
  public static func decodeBlockResults(_ bytes: [UInt8]) throws(WireError) -> [BlockResult] {
    try checkCount(bytes.count, Limits.outputBytes, "block_results")
    try MessageBounds.check(bytes, .blockResults, "block_results")
    return try parsed(ProtoBlockResults.self, bytes, "block_results").words()
  }
  /// Encodes the pairs that a command wrote to `OP_OUTPUT`, in order.
  public static func encode(outputs: [(key: String, value: String)]) -> [UInt8] {
    var proto = ProtoOutputs()
    proto.key = outputs.map(\.key)
    proto.value = outputs.map(\.value)
    return bytes(of: proto)
  }
  /// Encodes the output of a command or of a call.
  public static func encode(output: OperationOutput) -> [UInt8] { bytes(of: output.proto) }
  /// At most `Limits.outputBytes`.
  public static func decodeOutput(_ bytes: [UInt8]) throws(WireError) -> OperationOutput {
    try checkCount(bytes.count, Limits.outputBytes, "outputs")
    return try OperationOutput(proto: parsed(ProtoOutputs.self, bytes, "outputs"))
  }
  /// Decodes only the pairs of an output. At most `Limits.outputBytes`.
  public static func decodeOutputs(
    _ bytes: [UInt8]
  ) throws(WireError) -> [(key: String, value: String)] {
    try checkCount(bytes.count, Limits.outputBytes, "outputs")
    let proto = try parsed(ProtoOutputs.self, bytes, "outputs")
    try checkEqual(proto.value.count, proto.key.count, "outputs.value")
    return zip(proto.key, proto.value).map { (key: $0, value: $1) }
  }

  /// A stable 64-bit hash of bytes (FNV-1a).
  public static func fingerprint(_ bytes: [UInt8]) -> UInt64 {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
    return hash
  }
}

/// Encoding fails only for a message beyond protobuf's own limit of 2 GiB; `Limits` are far below
/// it.
private func bytes(of proto: some SwiftProtobuf.Message) -> [UInt8] {
  do {
    return try proto.serializedBytes()
  } catch {
    preconditionFailure("message does not encode: \(error)")
  }
}

private func parsed<Proto: SwiftProtobuf.Message>(
  _ type: Proto.Type, _ bytes: [UInt8], _ name: String
) throws(WireError) -> Proto {
  var options = BinaryDecodingOptions()
  options.messageDepthLimit = WireLimits.depth
  options.discardUnknownFields = true
  do {
    return try Proto(serializedBytes: bytes, options: options)
  } catch {
    throw WireError(name, .malformed)
  }
}

/// Decodes a frame from a socket after a check of its size and shape.
private func received<Word: WireReadable>(
  _ bytes: [UInt8], _ shape: Shape, _ name: String
) throws(WireError) -> Word {
  try checkCount(bytes.count, Limits.messageBytes, name)
  try MessageBounds.check(bytes, shape, name)
  return try Word(proto: parsed(Word.Proto.self, bytes, name))
}
