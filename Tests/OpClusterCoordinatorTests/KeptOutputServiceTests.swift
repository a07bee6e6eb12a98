// Outputs that have no room in the coordinator's memory, through the body (G29): what a client is
// told of them, over a restart too.

import Citations
import OpClusterCoordinator
import OpClusterJournal
import OpClusterModel
import Testing

@Suite struct KeptOutputServiceTests {
  /// So many outputs that the last ones have no room (`Limits.keptOutputBytesPerPrincipal`).
  private let count = UInt32(Limits.keptOutputBytesPerPrincipal / Limits.outputBytes) + 10

  /// Many with outputs, and two that read the first and the last.
  private var submission: GraphSubmission {
    var readers = OperationTemplate(name: "reader", count: 2, work: .command)
    readers.isArray = true
    readers.wantsInputs = true
    readers.isHeld = true
    var graph = arrayGraph("many", count)
    graph.templates.append(readers)
    graph.elementEdges = ElementEdges(
      from: [0, count - 1], to: [count, count + 1], policies: [.succeeded, .succeeded])
    return graph
  }

  private func output() -> AttemptResult {
    var result = AttemptResult.done
    result.output = [UInt8](repeating: 1, count: Limits.outputBytes)
    return result
  }

  // G29 G4 S138
  @Test(.checks("S138", "G4", "G29")) func whoCannotReadIsTold() throws {
    let folder = try TestFolder()
    var service = try Service(.disk, in: folder)
    var client = try TestClient(service)
    var worker = try TestWorker(service)
    let graph = try client.submit(submission)
    for _ in 0..<count / 10 { try worker.work(through: 10, result: output()) }
    try worker.work(through: Int(count % 10), result: output())
    service.stop()
    service = try Service(.disk, in: folder)
    client = try TestClient(service)
    worker = try TestWorker(service, session: 2)
    _ = try client.ask(.hold(.selection(.graph(graph)), false))
    let read = try worker.awaitDispatches(1)[0]
    #expect(read.attempt.operation.index == count)
    #expect(read.inputs.first?.output?.count == Limits.outputBytes)
    try worker.awaitAcknowledgement(of: worker.report([.finished(read.attempt, .done)]))
    #expect(try client.awaitEnd(of: graph).state == .failed)
    let rows = try client.operations(
      Selection(graphs: Selection.graph(graph).graphs, operation: "reader"))
    #expect(rows.map(\.state) == [.succeeded, .failed])
    #expect(rows[1].result?.cause == .missingInput)
    #expect(rows[1].result?.diagnostic.contains("had no room") == true)
    let last = try client.operations(
      Selection(
        graphs: Selection.graph(graph).graphs, operation: "a",
        elements: [IndexRun(first: count - 1, count: 1)]))
    #expect(last.first?.result?.output.count == Limits.outputBytes)
  }
}
