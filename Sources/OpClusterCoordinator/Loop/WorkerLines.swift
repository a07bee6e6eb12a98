// The log lines about workers that join and leave, from the same events that observers get. Pure;
// on the loop's thread.

import OpClusterModel

/// Remembers the names of workers, since the event of a loss has no name.
struct WorkerLines {
  /// Looked up only.
  private var names: [WorkerID: String]

  struct Line: Equatable {
    enum What: Equatable {
      case joined, lost, draining, left
      /// nil: all operations.
      case setAside(StageName?, reason: String)
      case resumed(StageName?)

      var isWarning: Bool {
        switch self {
        case .lost, .setAside: true
        case .joined, .draining, .left, .resumed: false
        }
      }
      /// The reason that the worker gave.
      var reason: String? { if case .setAside(_, let reason) = self { reason } else { nil } }
      var text: String {
        switch self {
        case .joined: "a worker has joined"
        case .lost: "a worker is lost: not heard in time, or started anew"
        case .draining: "a worker is draining"
        case .left: "a worker has left"
        case .setAside(let stage, _):
          "a worker cannot start \(Self.given(stage)), and others can: it is given none for a while"
        case .resumed(let stage): "a worker is given \(Self.given(stage)) again"
        }
      }
      private static func given(_ stage: StageName?) -> String {
        stage.map { "operations of \($0.text)" } ?? "operations"
      }
    }
    var what: What
    var worker: WorkerID
    var name: String
  }

  /// - Parameter workers: The workers of the coordinator's previous life.
  init(_ workers: [WorkerRow]) {
    names = Dictionary(workers.map { ($0.worker, $0.name) }, uniquingKeysWith: { $1 })
  }

  mutating func lines(of events: [EventRun]) -> [Line] {
    var lines: [Line] = []
    // By index: a turn may have thousands of events, and hardly any of these.
    for at in events.indices {
      guard case .worker(let id) = events[at].first.subject else { continue }
      let what: Line.What
      switch events[at].first.kind {
      case .workerJoined(let name):
        names[id] = name
        what = .joined
      case .workerLost: what = .lost
      case .workerDraining: what = .draining
      case .workerLeft: what = .left
      case .workerSetAside(let stage, let reason): what = .setAside(stage, reason: reason)
      case .workerResumed(let stage): what = .resumed(stage)
      default: continue
      }
      lines.append(Line(what: what, worker: id, name: names[id] ?? ""))
      if what == .lost || what == .left { names[id] = nil }
    }
    return lines
  }
}
