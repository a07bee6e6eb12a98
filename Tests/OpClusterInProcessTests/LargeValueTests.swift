// Values of any size between workers that share no folder: a real coordinator, real workers with
// stores of their own, over sockets.

import Citations
import FoundationEssentials
import OpClusterClient
import OpClusterModel
import OpClusterOperations
import OpClusterWire
import Testing

@Suite(.serialized) struct LargeValueTests {
  private static func types() -> OperationRegistry {
    var types = OperationRegistry()
    types.add(WriteText.self)
    types.add(CompareText.self)
    return types
  }

  /// One that leaves a text at worker 1, and `readers` at worker 2 that compare it.
  private static func graph(
    _ length: Int, readers: UInt32, on name: String
  ) throws -> GraphSubmission {
    var graph = GraphSubmission(name: "texts")
    var write = OperationTemplate(name: "write", count: 1, work: .call(WriteText.operationType))
    write.payload = try OperationArgument.encode(WriteText(length: length))
    write.requirements = [LabelRequirement(key: "worker", values: ["w1-\(name)"])]
    var read = OperationTemplate(
      name: "read", count: readers, work: .call(CompareText.operationType))
    read.isArray = true
    read.payload = try OperationArgument.encode(CompareText(length: length))
    read.requirements = [LabelRequirement(key: "worker", values: ["w2-\(name)"])]
    read.wantsInputs = true
    graph.templates = [write, read]
    graph.groupEdges = [GroupEdge(from: 0, to: 1, policy: .succeeded)]
    return graph
  }

  @Test("A value that fits no message is read at another worker, with every byte",
    arguments: [1_000, 70_000, 30_000_000])
  func crosses(length: Int) async throws {
    try await InProcessCluster.with(workers: 2, types: Self.types()) { link, name in
      let rows = try await link.ended(Self.graph(length, readers: 5, on: name))
      #expect(rows.map(\.outcome) == Array(repeating: .succeeded, count: 6))
      for row in rows where row.outcome != .succeeded {
        Issue.record("\(row.name): \(row.result?.diagnostic ?? "")")
      }
      let output = try #require(rows.first?.result?.output)
      #expect(output.count <= Limits.outputBytes)
      let contents = OperationOutput.contents(of: output)
      #expect(contents.count == (length > 65_536 ? 1 : 0))
      // The submitting side reads it from the worker, twice from one transfer.
      for content in contents + contents {
        let data = try await link.data(of: content)
        #expect(data.count == Int(content.size) && data.count == length + 2)
      }
    }
  }

  @Test("A content that nobody has is refused as expired")
  func unknownContents() async throws {
    try await InProcessCluster.with(workers: 1, types: Self.types()) { link, _ in
      let digest = try #require(ContentDigest(bytes: [UInt8](repeating: 1, count: 32)))
      await #expect {
        _ = try await link.data(of: StoredContent(digest: digest, size: 1))
      } throws: { error in
        guard case .refused(let refusal) = (error as? ClientError)?.kind else { return false }
        return refusal.code == .expired
      }
    }
  }
}

/// Leaves a text.
private struct WriteText: RegisteredOperation {
  static let typeName = "test.write-text"
  var length: Int

  func main(_ context: OperationContext) async throws -> String { Self.text(length) }

  static func text(_ length: Int) -> String {
    let line = "the quick brown fox jumps over the lazy dog; "
    let repeated = String(repeating: line, count: length / line.utf8.count + 1)
    return String(repeated.prefix(length))
  }
}

/// Fails if its dependency left another text.
private struct CompareText: RegisteredOperation {
  static let typeName = "test.compare-text"
  var length: Int

  struct Different: Error {}

  func main(_ context: OperationContext) async throws -> Int {
    let text: String = try context.requireOutput()
    guard text == WriteText.text(length) else { throw Different() }
    return text.utf8.count
  }
}

extension ClusterConnection {
  /// The operations of a graph when it has ended.
  func ended(_ submission: GraphSubmission) async throws -> [OperationRow] {
    let graph = try await submit(submission)
    try await awaitEnd(of: graph)
    return try await operations(of: graph)
  }
}
