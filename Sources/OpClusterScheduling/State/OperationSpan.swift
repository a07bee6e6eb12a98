// Neighbours that change together. A change of many operations goes through the same functions as a
// change of one, a span at a time: what an array of a million waits for, is cancelled by or ends as
// is then one step for each page of cells (`CellTable`).

import OpClusterModel

/// Neighbouring operations of one stage whose cells are equal and whose places follow each other;
/// often one operation. No worker has more than one of a span, since whoever is handed over gets a
/// cell of its own.
struct OperationSpan: Comparable, Sendable {
  var graph: GraphID
  var first: UInt32
  /// At least 1.
  var count: UInt32
  var stage: Int

  /// The first operation, which stands for all.
  var id: OperationID { OperationID(graph: graph, index: first) }
  var range: Range<UInt32> { first..<(first + count) }
  var isSingle: Bool { count == 1 }
  /// The last operation: of a longer span the only one that may have been changed alone, since it
  /// may have a page of its own.
  var last: OperationID { OperationID(graph: graph, index: first + (count - 1)) }

  /// One of them alone.
  func only(_ index: UInt32) -> OperationSpan {
    OperationSpan(graph: graph, range: index..<(index + 1), stage: stage)
  }

  static func < (a: Self, b: Self) -> Bool {
    a.id == b.id ? a.count < b.count : a.id < b.id
  }

  init(graph: GraphID, range: Range<UInt32>, stage: Int) {
    self.graph = graph
    first = range.lowerBound
    count = UInt32(range.count)
    self.stage = stage
  }

  @inline(__always)
  init(_ id: OperationID, stage: Int) {
    graph = id.graph
    first = id.index
    count = 1
    self.stage = stage
  }
}

extension Range<UInt32> {
  /// The indices in it that have an entry, ascending. Costs the smaller of the two: many short
  /// ranges in turn must not each go through a long table.
  func members<Entry>(of table: [UInt32: Entry]) -> [UInt32] {
    count <= table.count
      ? filter { table[$0] != nil } : table.keys.filter { contains($0) }.sorted()
  }
}

extension OperationRuns {
  mutating func append(_ span: OperationSpan) { append(first: span.first, count: span.count) }
}
