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

  /// The same, with neighbours at once; some ranges follow each other. Visits the stages from
  /// `first` on, of a single name only those that may have it, and in those that may contain
  /// selected operations all that are not known to be equal.
  @discardableResult
  package func forEachSelectedRange(
    of view: some GraphView, from first: UInt32 = 0, _ body: (Range<UInt32>) -> Bool
  ) -> Bool {
    guard let begin = view.stage(of: first) else { return true }
    let queue = WantedQueue(selection.queue, in: view.graph)
    let comparesQueues = selection.queue != nil && view.hasMoved
    let comparesPriorities = selection.priority != nil && view.hasOwnPriorities
    var start = begin
    while let stage = nextStage(of: view, from: start) {
      start = stage + 1
      if !selection.states.isEmpty, !view.mayHave(selection.states, stage: stage) { continue }
      guard means(stage, view) else { continue }
      let template = view.template(of: stage)
      guard comparesPriorities || meansPriority(template.priority),
        comparesQueues || queue.isMeant(by: view.queueName(of: stage))
      else { continue }
      let comparesEach = !selection.states.isEmpty || comparesPriorities || comparesQueues
      let goesOn = forEachRange(of: stage, template, view, from: first) { range in
        if !comparesEach { return body(range) }
        var index = range.lowerBound
        while index < range.upperBound {
          let next = view.equalEnd(from: index, before: range.upperBound)
          defer { index = next }
          if !selection.states.isEmpty, !selection.states.contains(view.state(of: index)) {
            continue
          }
          if comparesPriorities, !meansPriority(view.priority(of: index, stage: stage)) {
            continue
          }
          if comparesQueues, !queue.isMeant(by: view.queueName(of: index, stage: stage)) {
            continue
          }
          if !body(index..<next) { return false }
        }
        return true
      }
      if !goesOn { return false }
    }
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
    let start = shape.indices(of: stage).lowerBound
    return template.forEachElements(from: max(first, start) - start, numbered: numbers) {
      body((start + $0.lowerBound)..<(start + $0.upperBound))
    }
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
