// Converts between words and bytes. Everything in OpCluster's own format enters and leaves a
// process here; generated types stay inside this module. Pure functions for any thread.
// Words are the types of OpClusterModel. One file per message holds its codec: `Client/`,
// `Worker/`, `Journal/`, and `Columns/` for lists with an entry per operation. The format itself is
// described in `proto/`, whose comments say what a missing field means.

public import OpClusterModel
import SwiftProtobuf

/// Encodes words to bytes and decodes them. Each `decode…` returns a value equal to the one that
/// `encode` got, except that `encode` clips free texts to their limit. Decoders throw nothing but
/// `WireError`, for any bytes (G33), and ignore unknown fields (G32).
public enum Wire {
  // Conversations: at most `Limits.messageBytes` per message.
  /// A worker says this to its coordinator. A child process of a worker says it to the worker,
  /// which stands in for the coordinator there (`ChildPool`).
  public static func encode(_ message: WorkerMessage) -> [UInt8] { bytes(of: message.proto) }
  /// A client says this; its requests carry numbers, by which it knows the replies again.
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

  /// The bytes are a whole frame, and nothing about them is trusted. After an error the coordinator
  /// ends the conversation, and the worker says hello anew (G33).
  public static func decodeWorkerMessage(_ bytes: [UInt8]) throws(WireError) -> WorkerMessage {
    try received(bytes, .workerMessage, "worker message")
  }
  /// The worker reads what its coordinator says, and a child process what its worker says.
  public static func decodeCoordinatorMessage(
    _ bytes: [UInt8]
  ) throws(WireError) -> CoordinatorMessage {
    try received(bytes, .coordinatorMessage, "coordinator message")
  }
  /// A request is decoded when its turn has come. One that quotas refuse before is read by
  /// `RequestGlance` alone. After an error the request is refused, if its number can be read;
  /// otherwise the client is told once, and is heard no more (G33).
  public static func decodeClientMessage(_ bytes: [UInt8]) throws(WireError) -> ClientMessage {
    try received(bytes, .clientMessage, "client message")
  }
  /// No count bounds the messages inside before they are parsed. The limits of the lists apply
  /// afterwards, as each list becomes words.
  public static func decodeClientAnswer(_ bytes: [UInt8]) throws(WireError) -> ClientAnswer {
    try received(bytes, .any, "client answer")
  }

  // Transfers of contents between stores.
  /// A reader says this to a holder.
  public static func encode(_ request: ContentRequest) -> [UInt8] { bytes(of: request.proto) }
  public static func encode(_ answer: ContentAnswer) -> [UInt8] { answer.encoded }
  /// The holder ends the connection of a reader whose requests cannot be read.
  public static func decodeContentRequest(
    _ bytes: [UInt8]
  ) throws(WireError) -> ContentRequest {
    try received(bytes, .contentRequest, "content request")
  }
  /// At most `Limits.contentPieceBytes` in one piece. The reader turns to another holder after an
  /// error.
  public static func decodeContentAnswer(
    _ bytes: [UInt8]
  ) throws(WireError) -> ContentAnswer {
    try checkCount(bytes.count, Limits.messageBytes, "content answer")
    try MessageBounds.check(bytes, .any, "content answer")
    return try ContentAnswer(encoded: bytes)
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
  /// A kind of fact that this release does not know has no body here, and throws `missing`. A
  /// journal of a later release is therefore refused, never read in part. The coordinator reads it
  /// at its start, and `opcoord journal` for people.
  public static func decodeRecords(_ bytes: [UInt8]) throws(WireError) -> [Record] {
    try parsed(ProtoTurn.self, bytes, "turn").words()
  }
  /// Encodes the events of one turn for the event log. A run costs as much as a single event,
  /// however many operations it covers.
  public static func encode(eventRuns: [EventRun]) -> [UInt8] {
    bytes(of: ProtoEvents(runs: eventRuns))
  }
  /// At most `Limits.operationsPerGraph` events, counted over all runs. The history reader keeps
  /// them as runs and expands only what a subscription asks for.
  public static func decodeEventRuns(_ bytes: [UInt8]) throws(WireError) -> [EventRun] {
    try parsed(ProtoEvents.self, bytes, "events").runs(Limits.operationsPerGraph)
  }
  /// Encodes lines of the history of attempts.
  public static func encode(history: [AttemptHistory]) -> [UInt8] {
    bytes(of: ProtoAttemptHistories(history))
  }
  /// Lines come back in the order of encoding. At most `Limits.operationsPerGraph` of them.
  public static func decodeHistory(_ bytes: [UInt8]) throws(WireError) -> [AttemptHistory] {
    try parsed(ProtoAttemptHistories.self, bytes, "history").words(Limits.operationsPerGraph)
  }
  /// Encodes the row under which an ended graph is listed, so that a page of a thousand graphs
  /// needs no other part of their records.
  public static func encode(graphRow: GraphRow) -> [UInt8] { bytes(of: graphRow.proto) }
  /// The bytes come from the journal's own file. An error therefore means a damaged row or another
  /// release, and never a hostile peer.
  public static func decodeGraphRow(_ bytes: [UInt8]) throws(WireError) -> GraphRow {
    try GraphRow(proto: parsed(ProtoGraphRow.self, bytes, "graph row"))
  }
  /// Encodes the row of one operation by itself, outside of a page.
  public static func encode(operationRow: OperationRow) -> [UInt8] {
    bytes(of: operationRow.proto)
  }
  /// The inverse of `encode(operationRow:)`, with the limits of a row in a reply.
  public static func decodeOperationRow(_ bytes: [UInt8]) throws(WireError) -> OperationRow {
    try OperationRow(proto: parsed(ProtoOperationRow.self, bytes, "operation row"))
  }

  // Payloads that are opaque to the coordinator.
  /// Encodes a submission once, for the journal and for the history: both hold the same bytes. A
  /// client's request has the message itself as a field, not these bytes.
  public static func encode(submission: GraphSubmission) -> [UInt8] {
    bytes(of: submission.proto)
  }
  /// No limit on the size of the whole: the frame that brought the submission was limited. The
  /// limits of its parts are checked again.
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
  /// Pairs keep their order, and a key may occur twice; the reader decides what that means.
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
    try decodeOutput(bytes, limit: Limits.outputBytes)
  }
  /// An output that has not been in any message may have more.
  package static func decodeOutput(
    _ bytes: [UInt8], limit: Int
  ) throws(WireError) -> OperationOutput {
    try checkCount(bytes.count, limit, "outputs")
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
  /// Stays the same over processes, machines and releases, in contrast to `Hasher`: it is compared
  /// between a client and a worker that were built apart. It is no protection against somebody who
  /// wants two inputs to agree.
  public static func fingerprint(_ bytes: [UInt8]) -> UInt64 {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
    return hash
  }
}

/// Encoding fails only for a message beyond protobuf's own limit of 2 GiB; `Limits` are far below
/// it.
func bytes(of proto: some SwiftProtobuf.Message) -> [UInt8] {
  do {
    return try proto.serializedBytes()
  } catch {
    preconditionFailure("message does not encode: \(error)")
  }
}

/// Parses with a bound on nesting, since SwiftProtobuf descends by recursion and a deep message
/// would exhaust the stack. Unknown fields are dropped, so that a later release may add some (G32).
func parsed<Proto: SwiftProtobuf.Message>(
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
/// The order is the reason for the function: bytes are counted first, then the messages inside, and
/// only then is memory taken for them.
private func received<Word: WireReadable>(
  _ bytes: [UInt8], _ shape: Shape, _ name: String
) throws(WireError) -> Word {
  try checkCount(bytes.count, Limits.messageBytes, name)
  try MessageBounds.check(bytes, shape, name)
  return try Word(proto: parsed(Word.Proto.self, bytes, name))
}
