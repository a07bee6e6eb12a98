// What `opbatch top` shows: which list, in which order, which line; and what keys change of it.
// Pure: keys go in, orders for the cluster come out.

public import OpClusterModel

/// What the cluster looked like at one moment.
public struct TopFigures: Sendable {
  public var workers: [WorkerRow]
  public var queues: [QueueRow]
  public var graphs: [GraphRow]
  /// Executing operations, at most a page.
  public var running: [OperationRow]
  /// Whether there are more than these.
  public var hasMoreGraphs: Bool
  public var hasMoreRunning: Bool
  /// Operations that ended each second; nil: that is not known yet.
  public var rate: Double?

  public init(
    workers: [WorkerRow], queues: [QueueRow], graphs: [GraphRow], running: [OperationRow],
    hasMoreGraphs: Bool = false, hasMoreRunning: Bool = false, rate: Double? = nil
  ) {
    self.workers = workers
    self.queues = queues
    self.graphs = graphs
    self.running = running
    self.hasMoreGraphs = hasMoreGraphs
    self.hasMoreRunning = hasMoreRunning
    self.rate = rate
  }
}

/// What somebody has in view.
public struct TopState: Sendable {
  public enum List: String, CaseIterable, Sendable {
    case operations, graphs, queues, workers
  }

  /// What a line stands for.
  public enum Subject: Hashable, Sendable {
    case operation(OperationID, shown: String)
    case graph(GraphID, name: String, isSuspended: Bool)
    case queue(String, isSuspended: Bool)
    case worker(String)
  }

  /// What a line stands for, whatever its name and state are at the moment.
  private enum Place: Hashable {
    case operation(OperationID), graph(GraphID), queue(String), worker(String)

    init(_ subject: Subject) {
      switch subject {
      case .operation(let id, _): self = .operation(id)
      case .graph(let graph, _, _): self = .graph(graph)
      case .queue(let name, _): self = .queue(name)
      case .worker(let name): self = .worker(name)
      }
    }
  }

  /// What is to be done in the cluster.
  public enum Order: Hashable, Sendable {
    case quit
    case cancel(Subject)
    case suspend(Subject, Bool)
    /// Shows the page of it.
    case open(Subject)
  }

  public private(set) var list = List.operations
  /// The position of the line in the list as it is shown.
  public private(set) var selected = 0
  /// What that line stands for: lines move from one look to the next.
  private var place: Place?
  public private(set) var filter = ""
  public private(set) var isTyping = false
  /// The order of the list, by name; else by what is most of interest.
  public private(set) var isByName = false
  /// What is asked before it is done.
  public private(set) var question: Order?
  /// The lines of a page that is open.
  public private(set) var page: [String]?
  private(set) var pageStart = 0
  /// The last thing that was done, or why it was not.
  public private(set) var note = ""

  public init() {}

  public mutating func show(page: [String]) {
    self.page = page
    pageStart = 0
  }

  public mutating func say(_ note: String) { self.note = note }

  /// Follows the selected line to where it is now; if it has gone, its position is kept.
  public mutating func follow(_ subjects: [Subject]) {
    if let place, let at = subjects.firstIndex(where: { Place($0) == place }) { selected = at }
    select(selected, subjects)
  }

  private mutating func select(_ position: Int, _ subjects: [Subject]) {
    selected = max(0, min(position, subjects.count - 1))
    place = subjects.indices.contains(selected) ? Place(subjects[selected]) : nil
  }

  /// - Parameter subjects: The lines of the list as it is shown.
  public mutating func press(_ key: TopKey, _ subjects: [Subject]) -> Order? {
    note = ""
    follow(subjects)
    if let question {
      self.question = nil
      guard key == .character("y") || key == .character("Y") else { return nil }
      return question
    }
    if isTyping {
      type(key)
      return nil
    }
    if page != nil {
      leaf(key)
      return key == .character("q") ? .quit : nil
    }
    return choose(key, subjects)
  }

  private mutating func type(_ key: TopKey) {
    switch key {
    case .character(let character):
      if filter.utf8.count < 100 { filter.append(character) }
    case .backspace: _ = filter.popLast()
    case .escape:
      filter = ""
      isTyping = false
    case .enter: isTyping = false
    case .tab, .up, .down, .pageUp, .pageDown: break
    }
    select(0, [])
  }

  private mutating func leaf(_ key: TopKey) {
    let last = max(0, (page?.count ?? 0) - 1)
    switch key {
    case .up, .character("k"): pageStart = max(0, pageStart - 1)
    case .down, .character("j"): pageStart = min(last, pageStart + 1)
    case .pageUp: pageStart = max(0, pageStart - 10)
    case .pageDown: pageStart = min(last, pageStart + 10)
    case .escape, .enter, .backspace: page = nil
    case .character, .tab: break
    }
  }

  private mutating func choose(_ key: TopKey, _ subjects: [Subject]) -> Order? {
    let subject = subjects.indices.contains(selected) ? subjects[selected] : nil
    switch key {
    case .up, .character("k"): select(selected - 1, subjects)
    case .down, .character("j"): select(selected + 1, subjects)
    case .pageUp: select(selected - 10, subjects)
    case .pageDown: select(selected + 10, subjects)
    case .tab:
      let at = List.allCases.firstIndex(of: list) ?? 0
      list = List.allCases[(at + 1) % List.allCases.count]
      select(0, [])
    case .character("1"), .character("2"), .character("3"), .character("4"):
      guard case .character(let digit) = key, let number = digit.wholeNumberValue else { break }
      list = List.allCases[number - 1]
      select(0, [])
    case .character("s"): isByName.toggle()
    case .character("/"): isTyping = true
    case .escape: filter = ""
    case .character("c"):
      switch subject {
      case .operation, .graph: question = subject.map { .cancel($0) }
      case .queue, .worker: note = "operations and graphs can be cancelled"
      case nil: break
      }
    case .character("p"):
      switch subject {
      case .graph(_, _, let isSuspended): return subject.map { .suspend($0, !isSuspended) }
      case .queue(_, let isSuspended): return subject.map { .suspend($0, !isSuspended) }
      case .operation, .worker: note = "graphs and queues can be suspended"
      case nil: break
      }
    case .enter: return subject.map { .open($0) }
    case .character("q"): return .quit
    case .character, .backspace: break
    }
    return nil
  }
}
