// Values that are too large for a message: who has a store puts them there, who has none refuses
// them, and readers find them by their file.

import Citations
import FoundationEssentials
import OpClusterModel
import OpClusterOperations
import OpClusterWire
import Testing

@Suite(.checks("S140")) struct StoredOutputTests {
  private struct Table: Codable, Equatable {
    var name: String
    var rows: Int
    var text: String
  }

  private static func table(_ count: Int) -> Table {
    Table(name: "large", rows: 3, text: String(repeating: "x", count: count))
  }

  /// A store of one content, in a file.
  private final class OneFile {
    let path = "/tmp/stored-output-\(UInt64.random(in: 0 ... .max))"
    var kept: [UInt8] = []
    var content: StoredContent?

    func keep(_ bytes: [UInt8]) throws -> StoredContent {
      let digest = try #require(ContentDigest(bytes: [UInt8](repeating: 9, count: 32)))
      try Data(bytes).write(to: URL(filePath: path))
      kept = bytes
      return StoredContent(digest: digest, size: Int64(bytes.count))
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
  }

  private static func result(_ table: Table) throws -> AttemptResult {
    var result = AttemptResult()
    result.output = try OutputValue.encode(table)
    return result
  }

  @Test("A large value goes to the store; what is left has its type, its fields and its place")
  func stored() throws {
    let file = OneFile()
    let (fitting, kept) = try Self.result(Self.table(100_000)).fittingMessages(keep: file.keep)
    #expect(fitting.isSuccess && fitting.output.count <= Limits.outputBytes)
    let output = try Wire.decodeOutput(fitting.output)
    #expect(output.contents == kept && kept.count == 1 && output.valueContent == 0)
    #expect(output.typeName == "Table" && output.value.isEmpty)
    #expect(Set(output.pairs.map { "\($0.key)=\($0.value)" }) == ["name=large", "rows=3"])
    let path = file.path
    let contents = OperationContents { digest in
      digest == kept[0].digest ? try Data(contentsOf: URL(filePath: path)) : nil
    }
    let read = try OutputValue.decode(Table.self, from: fitting.output, contents: contents)
    #expect(read == Self.table(100_000))
    #expect(throws: BadOutput.self) {
      try OutputValue.decode(Table.self, from: fitting.output)
    }
    // By type, by name, and by a property that is filled in.
    let input = DependencyInput(
      operation: OperationID(graph: GraphID(1), index: 0), name: "make", index: nil,
      outcome: .succeeded, output: fitting.output)
    let context = OperationContext(
      attempt: AttemptID(operation: OperationID(graph: GraphID(1), index: 1), attempt: 1),
      name: "read", inputs: [input], contents: contents)
    #expect(context.output(Table.self) == read)
    #expect(try context.requireOutput(of: "make", as: Table.self) == read)
  }

  @Test("At the limit of a message a value stays in it")
  func atTheLimit() throws {
    let file = OneFile()
    let around = try Self.result(Self.table(0)).output.count
    for count in [Limits.outputBytes - around - 8, Limits.outputBytes] {
      let (fitting, kept) = try Self.result(Self.table(count)).fittingMessages(keep: file.keep)
      #expect(kept.isEmpty == (count < Limits.outputBytes))
      #expect(fitting.output.count <= Limits.outputBytes)
    }
  }

  @Test("Without a store, and where the store refuses, the attempt fails and says why")
  func refused() throws {
    let result = try Self.result(Self.table(100_000))
    let (none, _) = result.fittingMessages(keep: nil)
    #expect(none.cause == .badOutput && none.output.isEmpty)
    #expect(none.diagnostic.contains("no store"))
    struct Full: Error, CustomStringConvertible { let description = "the store is full" }
    let (full, kept) = result.fittingMessages { _ in throw Full() }
    #expect(full.cause == .badOutput && kept.isEmpty)
    #expect(full.diagnostic == "its output was not kept: the store is full")
  }
}
