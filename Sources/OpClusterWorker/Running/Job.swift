// What is to be run and what runs: values that the runners hand to each other on the loop thread.

import OpClusterModel

/// One attempt that the brain, or a program, wants run.
struct Job: Sendable {
  var attempt: AttemptID
  /// Which run of the operation it is, as people count (`Dispatch.run`).
  var run: UInt32
  /// `Dispatch.queueName`; nil: its template's.
  var ownQueueName: String?
  var template: PreparedTemplate
  var inputs: [DependencyInput]
  /// The names of the gpus that it has; nil: who runs it gives nobody any.
  var gpus: [String]?

  var announcement: TemplateAnnouncement { template.announcement }
  /// What the operation's queue is called.
  var queueName: String { ownQueueName ?? announcement.queueName }
  /// The number that people see for the operation among its array's.
  var shownIndex: UInt32 { template.shownIndex(of: attempt.operation) }

  /// What its processes are told of gpus.
  var gpuVariables: [(name: String, value: String)] { GPUVariables.of(gpus) }
}

/// What runs for an attempt: its whole work, or one of its blocks.
struct Part: Hashable, Sendable {
  var attempt: AttemptID
  /// Position of the block; -1: the whole.
  var block: Int32 = -1

  var isWhole: Bool { block < 0 }
  /// `12.7.1`, or `12.7.1.3` for a block: names its folder.
  var folderName: String {
    let (operation, number) = (attempt.operation, attempt.attempt)
    let name = "\(operation.graph.number).\(operation.index).\(number)"
    return isWhole ? name : "\(name).\(block)"
  }
}
