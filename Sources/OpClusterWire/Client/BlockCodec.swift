// Converts the blocks of a block operation ⇄ `Blocks`, and their results ⇄ `BlockResults`. The
// client and the worker encode and decode them; the coordinator treats them as opaque bytes.
// Blocks run side by side inside one attempt (S118, S119).

import OpClusterModel

extension ProtoBlocks {
  /// The element's values, a field of the same message, are encoded by `Wire` alone.
  init(_ words: [OperationBlock]) {
    self.init()
    blocks = words.map(\.proto)
  }

  /// At most `Limits.blocksPerOperation`, over all encodings that were put end to end: protobuf
  /// appends their lists to each other (S120).
  func words() throws(WireError) -> [OperationBlock] {
    try list(blocks, Limits.blocksPerOperation, "blocks")
  }
}

/// A block is a command, a call with an encoded argument, or a call whose argument has places to
/// fill in.
extension OperationBlock: WireConvertible {
  var proto: ProtoBlocks.Block {
    var proto = ProtoBlocks.Block()
    switch self {
    case .command(let command): proto.command = command.proto
    case .call(let type, let argument):
      proto.call.type = type.proto
      proto.call.argument = data(argument)
    case .filledCall(let type, let input):
      proto.filledCall.type = type.proto
      proto.filledCall.input = input.proto
    }
    return proto
  }

  /// Arguments have no limit of their own: the limit of the list covers them.
  init(proto: ProtoBlocks.Block) throws(WireError) {
    switch proto.work {
    case .command(let command): self = .command(try CommandSpecification(proto: command))
    case .call(let call):
      self = .call(
        try OperationType(proto: call.type),
        argument: try opaque(call.argument, Limits.payloadBytes, "blocks.argument"))
    case .filledCall(let call):
      self = .filledCall(
        try OperationType(proto: call.type), try CallInput(proto: call.input))
    case nil: throw WireError("blocks.work", .missing)
    }
  }
}

/// By position: the result at 3 is that of the fourth block.
extension ProtoBlockResults {
  init(_ words: [BlockResult]) {
    self.init()
    results = words.map(\.proto)
  }

  /// Whether there is a result for each block is checked by whoever knows the blocks.
  func words() throws(WireError) -> [BlockResult] {
    try list(results, Limits.blocksPerOperation, "block_results")
  }
}

/// A skipped block had not begun when the cancellation came, so it has neither a value nor a
/// problem (S122).
extension BlockResult: WireConvertible {
  var proto: ProtoBlockResults.Result {
    var proto = ProtoBlockResults.Result()
    switch self {
    case .succeeded(let value): proto.succeeded = data(value)
    case .failed(let problem): proto.failed = clipped(problem, to: Limits.reasonBytes)
    case .skipped: proto.skipped = ProtoBlockResults.Skipped()
    }
    return proto
  }

  /// The limit of the whole output bounds each value; a problem has the limit of a reason.
  init(proto: ProtoBlockResults.Result) throws(WireError) {
    switch proto.result {
    case .succeeded(let value):
      self = .succeeded(try opaque(value, Limits.outputBytes, "block_results.succeeded"))
    case .failed(let problem):
      self = .failed(try text(problem, Limits.reasonBytes, "block_results.failed"))
    case .skipped: self = .skipped
    case nil: throw WireError("block_results.result", .missing)
    }
  }
}
