// Values that the runners exchange on the loop thread: the attempt to run, and its parts.

package import OpClusterModel

/// One attempt that the brain, or a program, wants to run.
package struct Job: Sendable {
  var attempt: AttemptID
  /// The number of the operation's run, as people count (`Dispatch.run`).
  var run: UInt32
  /// `Dispatch.queueName`; nil: its template's.
  var ownQueueName: String?
  var template: PreparedTemplate
  var inputs: [DependencyInput]
  /// The names of its gpus; nil: gpus are not managed.
  var gpus: [String]?

  package init(
    attempt: AttemptID, run: UInt32, ownQueueName: String? = nil, template: PreparedTemplate,
    inputs: [DependencyInput], gpus: [String]? = nil
  ) {
    self.attempt = attempt
    self.run = run
    self.ownQueueName = ownQueueName
    self.template = template
    self.inputs = inputs
    self.gpus = gpus
  }

  /// Whether it has a folder with what it reads of stores.
  var readsStore: Bool {
    !announcement.inputFiles.isEmpty || !inputs.contents(announcement.contentNeeds).isEmpty
  }

  var announcement: TemplateAnnouncement { template.announcement }
  /// The name of the operation's queue.
  var queueName: String { ownQueueName ?? announcement.queueName }
  /// The shown number of the operation in its array.
  var shownIndex: UInt32 { template.shownIndex(of: attempt.operation) }

  /// Its span in the trace of who submitted the graph.
  var traceParent: TraceParent? {
    announcement.traceParent.map { parent in
      let spans = GraphSpans(attempt.operation.graph, below: parent)
      return parent.with(span: spans.attempt(run, of: attempt.operation.index))
    }
  }

  /// The gpu variables of its processes.
  var gpuVariables: [(name: String, value: String)] { GPUVariables.of(gpus) }
}

/// A running part of an attempt: its whole work, or one of its blocks.
struct Part: Hashable, Sendable {
  var attempt: AttemptID
  /// The position of the block; -1: the whole.
  var block: Int32 = -1

  var isWhole: Bool { block < 0 }
  /// `12.7.1`, or `12.7.1.3` for a block: the name of its folder.
  var folderName: String {
    let (operation, number) = (attempt.operation, attempt.attempt)
    let name = "\(operation.graph.number).\(operation.index).\(number)"
    return isWhole ? name : "\(name).\(block)"
  }
}
