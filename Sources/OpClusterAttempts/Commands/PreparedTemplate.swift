// A template decoded once, so that starting its operations is cheap. Made on the loop thread; never
// changed.

package import OpClusterModel
import OpClusterWire

/// A template, decoded.
package final class PreparedTemplate: Sendable {
  /// The announcement without its payload, so that large ones are not kept twice.
  package let announcement: TemplateAnnouncement
  let work: PreparedWork

  package init(_ announcement: TemplateAnnouncement) {
    work = PreparedWork(announcement)
    var kept = announcement
    kept.payload = []
    self.announcement = kept
  }

  /// The shown number of the element.
  func shownIndex(of operation: OperationID) -> UInt32 {
    announcement.indexRuns.number(ofElement: operation.index &- announcement.firstIndex)
  }

  /// The time from the start to the request to stop: the template's, else the command's.
  package var timeout: Span? { announcement.timeout ?? work.command?.timeout }
  /// The time from the request to stop to the kill: the template's, else the command's.
  package var grace: Span? { announcement.grace ?? work.command?.grace }
}

enum PreparedWork: Sendable {
  case command(CommandSpecification)
  /// `argument` applies if an element has none of its own.
  case call(OperationType, argument: [UInt8])
  /// A function of Python. `argument` applies if an element has no object of its own.
  case python(PythonInterpreter, argument: [UInt8])
  /// The argument is filled in at the start; an element's own argument holds its values.
  case filledCall(OperationType, CallInput)
  /// The template's blocks; an attempt may bring more (S120).
  case blocks([OperationBlock])
  /// Succeeds at once.
  case nothing
  /// Fails at once: the template cannot be run.
  case unusable(AttemptProblem)

  init(_ announcement: TemplateAnnouncement) {
    switch announcement.work {
    case .nothing: self = .nothing
    case .call(let type) where announcement.fillsInput:
      do throws(WireError) {
        self = .filledCall(type, try Wire.decodeCallInput(announcement.payload))
      } catch {
        self = .unusable(.unreadable("input", error))
      }
    case .call(let type) where type.isPython && !announcement.payload.isEmpty:
      do throws(AttemptProblem) {
        self = .python(
          try PythonInterpreter(argument: announcement.payload), argument: announcement.payload)
      } catch {
        self = .unusable(error)
      }
    case .call(let type): self = .call(type, argument: announcement.payload)
    case .command:
      do throws(WireError) {
        self = .command(try Wire.decodeCommand(announcement.payload))
      } catch {
        self = .unusable(.unreadable("command", error))
      }
    case .blocks:
      do throws(WireError) {
        self = .blocks(try Wire.decodeBlocks(announcement.payload))
      } catch {
        self = .unusable(.unreadable("list of blocks", error))
      }
    }
  }

  var command: CommandSpecification? {
    if case .command(let command) = self { command } else { nil }
  }
}

extension AttemptProblem {
  static func unreadable(_ what: String, _ error: WireError) -> AttemptProblem {
    AttemptProblem(
      cause: .badArgument,
      message: "the \(what) cannot be read (\(error)); submit it with a client of this release")
  }
}
