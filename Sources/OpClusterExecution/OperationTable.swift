// Finds an operation's slot and remembers, for as long as its graph lives, the highest attempt this
// session has seen of it: no attempt is started twice (Simulation.md, hole 2). Owned by the core.
//
// Operations are dense in their graph, so a graph is an array of pages, and a page is made when
// the first of its operations arrives: 16 bytes for each operation, bounded by what was sent.

import OpClusterModel

/// What is remembered of one operation.
struct OperationEntry: Sendable {
  var slot = Slot.none
  /// Highest attempt seen in this session, also one that was given back; 0: none.
  var highest: UInt32 = 0
  /// Of the last attempt here; −1: none.
  var template = TemplateNumber(-1)
  /// How the last attempt here ended, once its report was acknowledged and where it left no
  /// output: a dependent that arrives late still counts with it.
  var outcome: Outcome?
}

/// One graph's operations and templates.
struct GraphEntry: Sendable {
  static let pageBits: UInt32 = 8
  var graph: GraphID
  var pages: [[OperationEntry]] = []
  /// By position in the graph's templates; −1: not announced.
  var templates: [TemplateNumber] = []
  /// Slots in use, and attempts killed and forgotten that still end.
  var live = 0
  /// The coordinator has no more to say about it.
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
      // As long as it has to be: most graphs have few operations.
      while pages[page].count <= place { pages[page].append(OperationEntry()) }
      yield &pages[page][place]
    }
  }

  /// For the next graph, which may be as small as this one was and finds the room.
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

/// All graphs that have operations here.
struct OperationTable: Sendable {
  /// By number; a removed graph leaves an empty entry that is used again.
  private(set) var graphs: [GraphEntry] = []
  private var free: [Int32] = []
  private var numbers: [GraphID: Int32] = [:]
  private var newest: (graph: GraphID, number: Int32) = (GraphID(0), -1)

  /// The graph's number; nil when nothing of it is known.
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

  /// The operation's slot; `.none` when it has none.
  mutating func slot(of operation: OperationID) -> Slot {
    guard let number = number(of: operation.graph) else { return .none }
    return graphs[Int(number)][operation.index].slot
  }

  /// Whether the entry of this number is a graph, not an empty one.
  func isUsed(_ number: Int32) -> Bool { numbers[graphs[Int(number)].graph] == number }

  /// Removes the graph; its templates are the caller's to free.
  mutating func remove(_ number: Int32) {
    numbers[graphs[Int(number)].graph] = nil
    graphs[Int(number)].clear()
    free.append(number)
    newest = (GraphID(0), -1)
  }
}
