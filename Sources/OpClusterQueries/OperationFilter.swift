// What a selection means: the one place that says so. Lists, explanations, steering, events and
// retries ask here, for what lives and for what has ended.

package import OpClusterModel

/// A selection, prepared to be compared with the operations of graphs. Its graphs are found by
/// whoever asks; what it says beyond them is compared here.
package struct OperationFilter: Sendable {
  package let selection: Selection
  private let pattern: NamePattern?
  private let numbers: ElementNumbers

  package init(_ selection: Selection) {
    self.selection = selection
    pattern = selection.operation.map { NamePattern($0) }
    numbers = ElementNumbers(selection.elements)
  }

  /// Whether every operation of its graphs is meant, whatever their states.
  package var isWhole: Bool {
    pattern == nil && selection.elements.isEmpty && selection.queue == nil
      && selection.priority == nil
  }

  /// Whether a graph carries the labels that are asked for: each by itself, or by a stage.
  package static func carries(_ labels: [Label], _ shape: some GraphShape) -> Bool {
    labels.allSatisfy { label in
      shape.labels.contains(label)
        || (0..<shape.stageCount).contains { shape.labels(of: $0).contains(label) }
    }
  }

  /// Calls `body` with the operations that a graph was submitted with and that are meant, as
  /// ascending runs from `first` on, while it returns true; whether it always did. States and what
  /// was moved later are not looked at. Costs a look at each stage, and the runs.
  @discardableResult
  package func forEachRange(
    of shape: some GraphShape, from first: UInt32 = 0, _ body: (Range<UInt32>) -> Bool
  ) -> Bool {
    let queue = WantedQueue(selection.queue, in: shape.graph)
    for stage in 0..<shape.stageCount {
      let template = shape.template(of: stage)
      guard means(template, shape), meansPriority(template.priority),
        queue.isMeant(by: shape.queueName(of: stage))
      else { continue }
      if !forEachRange(of: stage, template, shape, from: first, body) { return false }
    }
    return true
  }

  /// Calls `body` with the operations that are meant, ascending from `first` on, while it returns
  /// true; whether it always did. Costs a look at each stage from `first` on, and at each operation
  /// of those that may be meant.
  @discardableResult
  package func forEachOperation(
    of view: some GraphView, from first: UInt32 = 0, _ body: (UInt32) -> Bool
  ) -> Bool {
    guard let begin = view.stage(of: first) else { return true }
    let queue = WantedQueue(selection.queue, in: view.graph)
    let comparesQueues = selection.queue != nil && view.hasMoved
    let comparesPriorities = selection.priority != nil && view.hasOwnPriorities
    for stage in begin..<view.stageCount
    where selection.states.isEmpty || view.mayHave(selection.states, stage: stage) {
      let template = view.template(of: stage)
      guard means(template, view), comparesPriorities || meansPriority(template.priority),
        comparesQueues || queue.isMeant(by: view.queueName(of: stage))
      else { continue }
      let goesOn = forEachRange(of: stage, template, view, from: first) { range in
        for index in range {
          if !selection.states.isEmpty, !selection.states.contains(view.state(of: index)) {
            continue
          }
          if comparesPriorities, !meansPriority(view.priority(of: index, stage: stage)) {
            continue
          }
          if comparesQueues, !queue.isMeant(by: view.queueName(of: index, stage: stage)) {
            continue
          }
          if !body(index) { return false }
        }
        return true
      }
      if !goesOn { return false }
    }
    return true
  }

  /// The elements of a stage that are named, as ascending runs of indices.
  private func forEachRange(
    of stage: Int, _ template: OperationTemplate, _ shape: some GraphShape, from first: UInt32,
    _ body: (Range<UInt32>) -> Bool
  ) -> Bool {
    let start = shape.indices(of: stage).lowerBound
    return template.forEachElements(from: max(first, start) - start, numbered: numbers) {
      body((start + $0.lowerBound)..<(start + $0.upperBound))
    }
  }

  /// Name and labels, which nothing changes.
  private func means(_ template: OperationTemplate, _ shape: some GraphShape) -> Bool {
    if let pattern, !pattern.matches(template.name) { return false }
    return selection.labels.allSatisfy {
      template.labels.contains($0) || shape.labels.contains($0)
    }
  }

  private func meansPriority(_ priority: Priority) -> Bool {
    selection.priority.map { $0 == priority } ?? true
  }
}

/// The queue of a selection, as it may be called in one graph.
private struct WantedQueue {
  /// Empty: any queue is meant. One that came with the graph is called by its own name in it.
  private let names: [String]

  init(_ wanted: String?, in graph: GraphID) {
    names = wanted.map { [$0, StageName(graph: graph, name: $0).text] } ?? []
  }

  /// What is gone has no name, and nobody means it.
  func isMeant(by name: String) -> Bool {
    names.isEmpty || (!name.isEmpty && names.contains(name))
  }
}
