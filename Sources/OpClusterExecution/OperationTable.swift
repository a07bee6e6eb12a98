// Finds an operation's slot. Remembers, as long as its graph lives, the highest attempt that this
// session has seen of it, so that no attempt starts twice (Simulation.md, hole 2). Owned by the
// core.
//
// Operations are dense in their graph, so a graph is an array of pages. A page is made when its
// first operation arrives: 16 bytes per operation, bounded by what was sent.

import OpClusterModel

/// The memory of one operation.
struct OperationEntry: Sendable {
  var slot = Slot.none
  /// The highest attempt seen in this session, including attempts given back; 0: none.
  var highest: UInt32 = 0
  /// The template of the last attempt here; −1: none.
  var template = TemplateNumber(-1)
  /// The outcome of the last attempt here, once its report was acknowledged, if it left no output:
  /// a late dependent can still use it.
  var outcome: Outcome?
}

/// The operations and templates of one graph.
struct GraphEntry: Sendable {
  static let pageBits: UInt32 = 8
  var graph: GraphID
  var pages: [[OperationEntry]] = []
  /// By position in the graph's templates; −1: not announced.
  var templates: [TemplateNumber] = []
  /// Slots in use, and killed and dropped attempts that have not ended.
  var live = 0
  /// No further order will name the graph.
  var isForgotten = false

  subscript(_ index: UInt32) -> OperationEntry {
    get {
      let page = Int(index >> Self.pageBits)
      let place = Int(index & (1 << Self.pageBits - 1))
      guard page < pages.count, place < pages[page].count else { return OperationEntry() }
      return pages[page][place]
    }
    _modify {
      let page = Int(index >> Self.pageBits)
      while pages.count <= page { pages.append([]) }
      let place = Int(index & (1 << Self.pageBits - 1))
      // Grow only as needed: most graphs have few operations.
      while pages[page].count <= place { pages[page].append(OperationEntry()) }
      yield &pages[page][place]
    }
  }

  /// Clears the entry for the next graph; a small graph's storage stays.
  mutating func clear() {
    guard pages.count == 1, pages[0].count <= 16, templates.count <= 16 else {
      self = GraphEntry(graph: GraphID(0))
      return
    }
    graph = GraphID(0)
    pages[0].removeAll(keepingCapacity: true)
    templates.removeAll(keepingCapacity: true)
    live = 0
    isForgotten = false
  }

  func template(at position: UInt32) -> TemplateNumber? {
    guard Int(position) < templates.count, templates[Int(position)].position >= 0 else {
      return nil
    }
    return templates[Int(position)]
  }

  mutating func setTemplate(_ number: TemplateNumber, at position: UInt32) {
    while templates.count <= Int(position) { templates.append(TemplateNumber(-1)) }
    templates[Int(position)] = number
  }
}

/// All graphs with operations here.
struct OperationTable: Sendable {
  /// Graphs by number; a removed graph leaves an empty entry for reuse.
  private(set) var graphs: [GraphEntry] = []
  private var free: [Int32] = []
  private var numbers: [GraphID: Int32] = [:]
  private var newest: (graph: GraphID, number: Int32) = (GraphID(0), -1)

  /// The graph's number; nil if the graph is unknown.
  mutating func number(of graph: GraphID) -> Int32? {
    if newest.number >= 0, newest.graph == graph { return newest.number }
    guard let number = numbers[graph] else { return nil }
    newest = (graph, number)
    return number
  }

  mutating func numberMaking(_ graph: GraphID) -> Int32 {
    if let known = number(of: graph) { return known }
    let number: Int32
    if let again = free.popLast() {
      number = again
      graphs[Int(number)].graph = graph
    } else {
      number = Int32(graphs.count)
      graphs.append(GraphEntry(graph: graph))
    }
    numbers[graph] = number
    newest = (graph, number)
    return number
  }

  subscript(_ number: Int32) -> GraphEntry {
    _read { yield graphs[Int(number)] }
    _modify { yield &graphs[Int(number)] }
  }

  /// The operation's slot; `.none` if it has none.
  mutating func slot(of operation: OperationID) -> Slot {
    guard let number = number(of: operation.graph) else { return .none }
    return graphs[Int(number)][operation.index].slot
  }

  /// Whether the entry of this number is in use.
  func isUsed(_ number: Int32) -> Bool { numbers[graphs[Int(number)].graph] == number }

  /// Removes the graph; the caller frees its templates.
  mutating func remove(_ number: Int32) {
    numbers[graphs[Int(number)].graph] = nil
    graphs[Int(number)].clear()
    free.append(number)
    newest = (GraphID(0), -1)
  }
}
