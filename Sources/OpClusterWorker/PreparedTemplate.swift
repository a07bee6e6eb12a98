// What the worker makes of a template once, so that starting its operations is cheap. Loop thread.

import OpClusterModel
import OpClusterWire

/// A template, decoded.
struct PreparedTemplate {
  var announcement: TemplateAnnouncement
  var work: PreparedWork

  /// The element's number as people see it.
  func shownIndex(of operation: OperationID) -> UInt32 {
    var rest = operation.index &- announcement.firstIndex
    for run in announcement.indexRuns {
      if rest < run.count { return run.first &+ rest &* run.step }
      rest -= run.count
    }
    return rest &+ 1
  }
}

enum PreparedWork {
  case command(CommandSpecification)
  /// The second is the argument where an element has none of its own.
  case call(OperationRegistry.Kind, argument: [UInt8])
  /// Ends at once, well.
  case nothing
  /// Ends at once: this worker cannot run it.
  case unusable(AttemptProblem)

  init(_ announcement: TemplateAnnouncement, registry: OperationRegistry) {
    switch announcement.work {
    case .nothing: self = .nothing
    case .command:
      do throws(WireError) {
        self = .command(try Wire.decodeCommand(announcement.payload))
      } catch {
        self = .unusable(
          AttemptProblem(
            cause: .badArgument,
            message:
              "the command cannot be read (\(error)); submit it with a client of this release"))
      }
    case .call(let type):
      if let kind = registry.kind(of: type) {
        self = .call(kind, argument: announcement.payload)
      } else {
        self = .unusable(
          AttemptProblem(
            cause: .unknownType,
            message: "this worker has no operation type '\(type.name)' version \(type.version)"))
      }
    }
  }

  /// What the brain has to know of it.
  var timeout: Span? {
    if case .command(let command) = self { command.timeout } else { nil }
  }
  var grace: Span? {
    if case .command(let command) = self { command.grace } else { nil }
  }
}
