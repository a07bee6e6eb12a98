// A command that may end with other statuses than 0 alone fails with 0; whoever asks is told why.

import OpClusterJournal
import OpClusterModel
import OpClusterWire
import Testing

@Suite struct UnexpectedZeroTests {
  @Test(arguments: [[], [3], [0, 3]] as [[UInt8]])
  func aFailureWithZeroIsExplained(statuses: [UInt8]) throws {
    let service = try Service(.memory(MemoryDisk()), in: TestFolder())
    let client = try TestClient(service)
    let worker = try TestWorker(service)
    var command = CommandSpecification(form: .arguments([CommandText("true")]))
    command.successStatuses = statuses
    var submission = arrayGraph("g", 1)
    submission.templates[0].payload = Wire.encode(command: command)
    let graph = try client.submit(submission)
    try worker.work(through: 1, result: .failed(0))
    _ = try client.awaitEnd(of: graph)
    let words = "exit status 0 is not one of its ok_exit_codes"
    let said = statuses == [3] ? "\(words)\nit broke" : "it broke"
    let row = try #require(try client.operations(.graph(graph), limit: 1).first)
    #expect(row.result?.diagnostic == said)
    #expect(row.attempts.map(\.result.diagnostic) == [said])
    guard case .explanations(let rows, _) = try client.ask(.explain(.graph(graph))) else {
      Issue.record("nothing explains it")
      return
    }
    #expect(rows[0].lines.contains { $0.text.hasPrefix(words) } == (statuses == [3]))
  }
}
