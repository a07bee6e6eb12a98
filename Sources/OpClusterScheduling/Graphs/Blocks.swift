// Blocks that are added to a block operation after its submission (S120). To the coordinator they
// are bytes; the dispatch carries them behind the operation's original blocks.

import OpClusterModel

extension Scheduler {
  mutating func addBlocks(
    _ id: OperationID, _ bytes: [UInt8], into turn: inout SchedulingTurn
  ) throws(Refusal) -> ClientReply {
    let cell = try state.liveCell(id)
    let graph = id.graph.number
    let stage = graphs[graph].stages[graphs[graph].stageNumber(of: id.index)]
    let template = stage.template
    guard case .blocks = template.work else {
      throw Refusal(.badRequest, "\(state.shown(id)) is no block operation", operations: [id])
    }
    switch cell.phase {
    case .declared, .waiting, .ready: break
    case .dispatched, .executing:
      throw Refusal(
        .alreadyStarted, "\(state.shown(id)) is with a worker and takes no further blocks",
        hint: "hold it before it starts, or submit another operation", operations: [id])
    case .finished:
      throw Refusal(.alreadyFinished, "operation \(state.shown(id)) has finished", operations: [id])
    }
    if bytes.isEmpty { return .done(lastCommit) }
    var known = template.payload.count + (graphs[graph].addedBlocks[id.index]?.count ?? 0)
    if !template.elementArguments.isEmpty {
      known += template.elementArguments[Int(stage.element(id.index))].count
    }
    guard known + bytes.count <= Limits.payloadBytes else {
      throw Refusal(
        .limitExceeded,
        "the blocks of \(state.shown(id)) exceed \(Limits.payloadBytes) bytes together",
        operations: [id])
    }
    commit(.blocksAdded(id, bytes), into: &turn)
    return .done(turn.commit)
  }
}
