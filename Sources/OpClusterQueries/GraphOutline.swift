// A submission with the positions of its templates: the known part of any graph, living or ended.

package import OpClusterModel

package struct GraphOutline: GraphShape, Sendable {
  package let graph: GraphID
  package let submission: GraphSubmission
  /// The index of the first operation of each stage, and the number of operations at the end.
  private let firsts: [UInt32]

  package init(_ submission: GraphSubmission, graph: GraphID) {
    self.graph = graph
    self.submission = submission
    firsts = submission.firstIndices
  }

  package var labels: [Label] { submission.labels }
  package var stageCount: Int { submission.templates.count }
  package func template(of stage: Int) -> OperationTemplate { submission.templates[stage] }
  package func name(of stage: Int) -> String { submission.templates[stage].name }
  package func labels(of stage: Int) -> [Label] { submission.templates[stage].labels }
  package func indices(of stage: Int) -> Range<UInt32> { firsts[stage]..<firsts[stage + 1] }

  package func stage(of index: UInt32) -> Int? {
    guard index < firsts[firsts.count - 1] else { return nil }
    var low = 0
    var high = firsts.count - 1
    while high - low > 1 {
      let middle = (low + high) / 2
      if firsts[middle] <= index { low = middle } else { high = middle }
    }
    return low
  }

  package func queueName(of stage: Int) -> String { queue(of: stage).name }

  /// The queue name of a stage for people, and its quality of service if the submission defines it.
  package func queue(of stage: Int) -> (name: String, qos: QualityOfService) {
    let number = Int(submission.templates[stage].queue)
    guard number < submission.queues.count else { return ("default", .default) }
    switch submission.queues[number] {
    case .named(let name): return (name, .default)
    case .own(let settings):
      return (StageName(graph: graph, name: settings.name).text, settings.qos)
    }
  }
}
