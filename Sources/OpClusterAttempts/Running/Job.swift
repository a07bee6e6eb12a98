// Values that the runners exchange on the loop thread: the attempt to run, and its parts.

package import OpClusterModel
import OpClusterOperations
import OpClusterWire

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

  /// The files that it reads, and their paths in `OP_INPUTS`.
  ///
  /// - Throws: ``MissingInput`` if a value has no such file; what a command leaves is known before.
  func inputFiles() throws -> [(file: StoredFile, path: String)] {
    var found: [(StoredFile, String)] = []
    for input in inputs {
      let wanted = announcement.inputFiles.filter { $0.isOf(input) }
      guard !wanted.isEmpty, let bytes = input.output else { continue }
      let output = try Wire.decodeOutput(bytes)
      for wish in wanted {
        guard output.typeName.isEmpty || output.files.contains(where: { $0.name == wish.file }) else {
          throw MissingInput(
            "'\(input.name)' left no file '\(wish.file)'; the files of a value have the names of "
              + "its properties")
        }
        for file in output.files where file.name == wish.file {
          let place = wish.path(of: input)
          found.append((file, file.path.isEmpty ? place : "\(place)/\(file.path)"))
        }
      }
    }
    return found
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
