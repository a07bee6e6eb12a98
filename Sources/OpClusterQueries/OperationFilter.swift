// Defines the meaning of a selection, for living and ended graphs alike. Lists, explanations,
// steering, events and retries all use it.

package import OpClusterModel

/// A selection, prepared for comparison with the operations of graphs. The caller resolves its
/// graphs; the filter compares the other criteria.
package struct OperationFilter: Sendable {
  package let selection: Selection
  private let pattern: NamePattern?
  private let numbers: ElementNumbers

  package init(_ selection: Selection) {
    self.selection = selection
    pattern = selection.operation.map { NamePattern($0) }
    numbers = ElementNumbers(selection.elements)
  }

  /// Whether it selects every operation of its graphs, independent of their states.
  package var isWhole: Bool {
    pattern == nil && selection.elements.isEmpty && selection.queue == nil
      && selection.priority == nil
  }

  /// Whether it selects every operation of its graphs, whatever their states and labels.
  package var isEverything: Bool {
    isWhole && selection.states.isEmpty && selection.labels.isEmpty
  }

  /// Whether a graph has all requested labels, each on the graph itself or on a stage.
  package static func carries(_ labels: [Label], _ shape: some GraphShape) -> Bool {
    labels.allSatisfy { label in
      shape.labels.contains(label)
        || (0..<shape.stageCount).contains { shape.labels(of: $0).contains(label) }
    }
  }

  /// Calls `body` with the selected operations of a submitted graph, as ascending runs from `first`
  /// on, while it returns true; returns whether it always did. Ignores states and later moves.
  /// Visits each stage, and the runs.
  @discardableResult
  package func forEachRange(
    of shape: some GraphShape, from first: UInt32 = 0, _ body: (Range<UInt32>) -> Bool
  ) -> Bool {
    let queue = WantedQueue(selection.queue, in: shape.graph)
    for stage in 0..<shape.stageCount {
      guard means(stage, shape) else { continue }
      let template = shape.template(of: stage)
      guard meansPriority(template.priority),
        queue.isMeant(by: shape.queueName(of: stage))
      else { continue }
      if !forEachRange(of: stage, template, shape, from: first, body) { return false }
    }
    return true
  }

  /// Calls `body` with the selected operations, ascending from `first` on, while it returns true;
  /// returns whether it always did.
  @discardableResult
  package func forEachOperation(
    of view: some GraphView, from first: UInt32 = 0, _ body: (UInt32) -> Bool
  ) -> Bool {
    forEachSelectedRange(of: view, from: first) { range in
      for index in range where !body(index) { return false }
      return true
    }
  }

  /// The same, with neighbours at once; some ranges follow each other.
  @discardableResult
  package func forEachSelectedRange(
    of view: some GraphView, from first: UInt32 = 0, _ body: (Range<UInt32>) -> Bool
  ) -> Bool {
    var looks = Int.max
    return search(view, from: first, atMost: &looks, body) == .end
  }

  /// How far a search has come.
  package enum Reached: Equatable, Sendable {
    /// Nothing is left.
    case end
    /// The body did not want more.
    case stopped
    /// It has used its looks; this operation is the first that it has not looked at.
    case paused(before: UInt32)
  }

  /// The same in parts: it pauses when it has used its looks, and may be called again from there.
  /// Looks at the stages from `first` on, of a single name only at those that may have it, and in
  /// those that may contain selected operations at all that are not known to be equal.
  ///
  /// - Parameter looks: What it may still use, at least 3, or it may get no further; less than 2
  ///   afterwards if it has paused.
  package func search(
    _ view: some GraphView, from first: UInt32, atMost looks: inout Int,
    _ body: (Range<UInt32>) -> Bool
  ) -> Reached {
    guard let begin = view.stage(of: first) else { return .end }
    let queue = WantedQueue(selection.queue, in: view.graph)
    let comparesQueues = selection.queue != nil && view.hasMoved
    let comparesPriorities = selection.priority != nil && view.hasOwnPriorities
    let comparesEach = !selection.states.isEmpty || comparesPriorities || comparesQueues
    var start = begin
    while let stage = nextStage(of: view, from: start) {
      start = stage + 1
      looks -= 1
      if looks < 0 { return .paused(before: max(first, view.indices(of: stage).lowerBound)) }
      if !selection.states.isEmpty, !view.mayHave(selection.states, stage: stage) { continue }
      guard means(stage, view) else { continue }
      let template = view.template(of: stage)
      guard comparesPriorities || meansPriority(template.priority),
        comparesQueues || queue.isMeant(by: view.queueName(of: stage))
      else { continue }
      var reached = Reached.end
      let looked = forEachRange(of: stage, template, view, from: first, atMost: &looks) {
        (range, looks) in
        if !comparesEach { return body(range) }
        var index = range.lowerBound
        while index < range.upperBound {
          looks -= 1
          if looks < 0 {
            reached = .paused(before: index)
            return false
          }
          let next = view.equalEnd(from: index, before: range.upperBound)
          let isMeant = isMeantNow(
            index, stage, view, queue: comparesQueues ? queue : nil, priority: comparesPriorities)
          if isMeant, !body(index..<next) { return false }
          index = next
        }
        return true
      }
      if reached != .end { return reached }
      if looked != .end { return looked }
    }
    return .end
  }

  /// Whether an operation that was selected still is: its state, queue and priority may have
  /// changed, and nothing else.
  package func stillSelects(_ index: UInt32, of view: some GraphView) -> Bool {
    guard let stage = view.stage(of: index) else { return false }
    let queue = selection.queue.map { WantedQueue($0, in: view.graph) }
    return isMeantNow(index, stage, view, queue: queue, priority: selection.priority != nil)
  }

  /// Whether what may change of an operation is as it was asked for.
  ///
  /// - Parameters:
  ///   - queue: The queue to compare its own with, if it is to be.
  ///   - priority: Whether its priority is to be compared.
  private func isMeantNow(
    _ index: UInt32, _ stage: Int, _ view: some GraphView, queue: WantedQueue?, priority: Bool
  ) -> Bool {
    if !selection.states.isEmpty, !selection.states.contains(view.state(of: index)) {
      return false
    }
    if priority, !meansPriority(view.priority(of: index, stage: stage)) { return false }
    if let queue { return queue.isMeant(by: view.queueName(of: index, stage: stage)) }
    return true
  }

  /// The next stage that the name does not exclude.
  private func nextStage(of view: some GraphView, from start: Int) -> Int? {
    if let pattern, !pattern.isPattern { return view.stage(named: pattern.text, from: start) }
    return start < view.stageCount ? start : nil
  }

  /// The named elements of a stage, as ascending runs of indices.
  private func forEachRange(
    of stage: Int, _ template: OperationTemplate, _ shape: some GraphShape, from first: UInt32,
    _ body: (Range<UInt32>) -> Bool
  ) -> Bool {
    var looks = Int.max
    return forEachRange(of: stage, template, shape, from: first, atMost: &looks) { (range, _) in
      body(range)
    } == .end
  }

  /// The same in parts.
  private func forEachRange(
    of stage: Int, _ template: OperationTemplate, _ shape: some GraphShape, from first: UInt32,
    atMost looks: inout Int, _ body: (Range<UInt32>, inout Int) -> Bool
  ) -> Reached {
    let start = shape.indices(of: stage).lowerBound
    var element = max(first, start) - start
    while element < template.count {
      var end = template.count
      // Numbers in steps are looked for one by one; half of the looks are for what is found. Each
      // time costs the runs of the template up to there, so that it is worth as much.
      if !numbers.isAll, !numbers.areRanges {
        if looks <= 1 { return .paused(before: start + element) }
        let most = max(looks / 2, template.indexRuns.count / 4)
        end = element + UInt32(clamping: min(most, Int(end - element)))
        looks -= min(looks / 2, Int(end - element))
      }
      let goesOn = template.forEachElements(from: element, before: end, numbered: numbers) {
        body((start + $0.lowerBound)..<(start + $0.upperBound), &looks)
      }
      if !goesOn { return .stopped }
      element = end
    }
    return .end
  }

  /// Whether the name and labels match, which never change.
  private func means(_ stage: Int, _ shape: some GraphShape) -> Bool {
    if let pattern, !pattern.matches(shape.name(of: stage)) { return false }
    return selection.labels.allSatisfy {
      shape.labels(of: stage).contains($0) || shape.labels.contains($0)
    }
  }

  private func meansPriority(_ priority: Priority) -> Bool {
    selection.priority.map { $0 == priority } ?? true
  }
}

/// The queue of a selection, by its possible names in one graph.
private struct WantedQueue {
  /// Empty: any queue matches. A queue that came with the graph also has a short name in it.
  private let names: [String]

  init(_ wanted: String?, in graph: GraphID) {
    names = wanted.map { [$0, StageName(graph: graph, name: $0).text] } ?? []
  }

  /// Whether a queue matches; a removed queue has no name and never does.
  func isMeant(by name: String) -> Bool {
    names.isEmpty || (!name.isEmpty && names.contains(name))
  }
}
