// What the worker makes of a template once, so that starting its operations is cheap. Made on the
// loop thread; never changed.

import OpClusterModel
import OpClusterWire

/// A template, decoded.
final class PreparedTemplate: Sendable {
  /// Without its payload, which is decoded: large ones are not kept twice.
  let announcement: TemplateAnnouncement
  let work: PreparedWork

  init(_ announcement: TemplateAnnouncement) {
    work = PreparedWork(announcement)
    var kept = announcement
    kept.payload = []
    self.announcement = kept
  }

  /// The element's number as people see it.
  func shownIndex(of operation: OperationID) -> UInt32 {
    announcement.indexRuns.number(ofElement: operation.index &- announcement.firstIndex)
  }

  /// From the start to being asked to stop: what the template says, else the command itself.
  var timeout: Span? { announcement.timeout ?? work.command?.timeout }
  /// From being asked to stop to the kill, likewise.
  var grace: Span? { announcement.grace ?? work.command?.grace }
}

enum PreparedWork: Sendable {
  case command(CommandSpecification)
  /// The second is the argument where an element has none of its own.
  case call(OperationType, argument: [UInt8])
  /// Its argument is filled in at the start; an element's own argument is its values.
  case filledCall(OperationType, CallInput)
  /// Those of the template; an attempt may bring more (S120).
  case blocks([OperationBlock])
  /// Ends at once, well.
  case nothing
  /// Ends at once: it cannot be run.
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
