// `--notify` of `watch`, and what it says.

import ArgumentParser
import OpClusterManifest

struct NotifyOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      Tell somebody when a graph ends or first fails: 'terminal', an https:// address that gets a \
      POST with JSON, or a command for sh that gets it at stdin; may be repeated.
      """,
      valueName: "way"))
  var notify: [NotifyWay] = []

  @Option(help: "Only of this; may be repeated.") var notifyOn: [NotifyMoment] = []

  func validate() throws {
    if notify.count > GraphNotification.most {
      throw ValidationError("--notify is given more than \(GraphNotification.most) times")
    }
    if notify.isEmpty, !notifyOn.isEmpty {
      throw ValidationError("--notify-on needs --notify")
    }
  }

  private var moments: Set<GraphNotification.Moment> {
    Set(notifyOn.isEmpty ? GraphNotification.Moment.allCases : notifyOn.map(\.moment))
  }

  var notifications: [GraphNotification] {
    notify.compactMap { $0.way.map { GraphNotification($0, moments) } }
  }

  /// The moments that the terminal tells of.
  var onTerminal: Set<GraphNotification.Moment> {
    notify.contains { $0.way == nil } ? moments : []
  }
}

/// `terminal`, `https://…`, or a command.
struct NotifyWay: Equatable, Sendable, ExpressibleByArgument {
  /// nil: the terminal.
  var way: GraphNotification.Way?

  init?(argument: String) {
    if argument == "terminal" {
      way = nil
    } else if argument.hasPrefix("https://") || argument.hasPrefix("http://") {
      guard GraphNotification.objection(toWebhook: argument) == nil else { return nil }
      way = .webhook(argument, token: nil)
    } else {
      guard !argument.isEmpty else { return nil }
      way = .command(["sh", "-c", argument])
    }
  }
}

/// The words of `--notify-on`.
enum NotifyMoment: String, CaseIterable, ExpressibleByArgument, Sendable {
  case end, failure

  var moment: GraphNotification.Moment {
    switch self {
    case .end: .end
    case .failure: .failure
    }
  }
}
