// A submission with the places of its templates: what is known of a graph whatever became of it.
// Used by the loop for filters and by the reader for graphs that have ended. A pure value.

import OpClusterModel

struct GraphOutline: Sendable {
  let graph: GraphID
  let submission: GraphSubmission
  /// Index of the first element of each template, and the number of operations at the end.
  let firsts: [UInt32]

  init(_ submission: GraphSubmission, graph: GraphID) {
    self.graph = graph
    self.submission = submission
    var firsts: [UInt32] = [0]
    firsts.reserveCapacity(submission.templates.count + 1)
    for template in submission.templates {
      firsts.append(firsts[firsts.count - 1] + template.count)
    }
    self.firsts = firsts
  }

  var operationCount: UInt32 { firsts[firsts.count - 1] }

  /// The template of an operation; nil beyond the last.
  func stage(of index: UInt32) -> Int? {
    guard index < operationCount else { return nil }
    var low = 0
    var high = firsts.count - 1
    while high - low > 1 {
      let middle = (low + high) / 2
      if firsts[middle] <= index { low = middle } else { high = middle }
    }
    return low
  }

  func indices(of stage: Int) -> Range<UInt32> { firsts[stage]..<firsts[stage + 1] }

  /// The number that people see; nil for a plain operation.
  func shownIndex(_ index: UInt32, stage: Int) -> UInt32? {
    let template = submission.templates[stage]
    return template.isArray ? template.shownIndex(ofElement: index - firsts[stage]) : nil
  }

  /// `12/align/3`, or `12/align`.
  func shown(_ index: UInt32) -> String {
    guard let stage = stage(of: index) else { return "\(graph.number)/#\(index)" }
    let path = "\(graph.number)/\(submission.templates[stage].name)"
    return shownIndex(index, stage: stage).map { "\(path)/\($0)" } ?? path
  }

  /// The queue of a template as people call it, and its class where the submission says so.
  func queue(of stage: Int) -> (name: String, qos: QualityOfService) {
    let number = Int(submission.templates[stage].queue)
    guard number < submission.queues.count else { return ("default", .default) }
    switch submission.queues[number] {
    case .named(let name): return (name, .default)
    case .own(let settings): return ("\(graph.number)/\(settings.name)", settings.qos)
    }
  }

  /// Whether a template is meant, its elements aside.
  func matches(_ selection: Selection, _ stage: Int) -> Bool {
    let template = submission.templates[stage]
    if let name = selection.operation, name != template.name { return false }
    if let priority = selection.priority, priority != template.priority { return false }
    if let wanted = selection.queue {
      let name = queue(of: stage).name
      if name != wanted, "\(graph.number)/\(wanted)" != name { return false }
    }
    return selection.labels.allSatisfy {
      template.labels.contains($0) || submission.labels.contains($0)
    }
  }

  /// The elements with these shown numbers as ascending runs of indices from `first` on, while
  /// `body` returns true; whether it always did.
  @discardableResult
  func forEachRange(
    of stage: Int, from first: UInt32 = 0, _ numbers: ElementNumbers,
    _ body: (Range<UInt32>) -> Bool
  ) -> Bool {
    let start = firsts[stage]
    return submission.templates[stage].forEachElements(
      from: max(first, start) - start, numbered: numbers
    ) { body((start + $0.lowerBound)..<(start + $0.upperBound)) }
  }
}
