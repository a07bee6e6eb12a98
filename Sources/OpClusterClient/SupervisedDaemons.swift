// The daemons of an embedded cluster: one that has ended is started again, as the service manager
// of a machine does it for installed ones. Any task.

import OpClusterModel
import OpClusterSystem
import Synchronization

/// How soon a daemon that has ended is started again. Pure.
struct RestartPace: Sendable {
  /// After a daemon that has run for some time.
  static let shortest = Span.seconds(1)
  /// After many that have ended soon.
  static let longest = Span.seconds(60)

  private var pause = Self.shortest
  private var startedAt: Instant
  /// When it is started again; nil: it runs.
  private(set) var restartAt: Instant?

  init(startedAt: Instant) { self.startedAt = startedAt }

  /// Notes that it has ended, once.
  mutating func end(at now: Instant) {
    if now - startedAt >= Self.longest { pause = Self.shortest }
    restartAt = now + pause
    pause = min(pause + pause, Self.longest)
  }

  /// Notes that it was started again.
  mutating func start(at now: Instant) {
    startedAt = now
    restartAt = nil
  }
}

/// Daemons that run, or are about to run again.
final class SupervisedDaemons: Sendable {
  private struct Supervised {
    var daemon: DaemonProcess
    var pace: RestartPace
  }
  private struct State {
    var all: [Supervised]
    var task: Task<Void, Never>?
    var isEnding = false
  }

  /// Between two looks at them: a look costs a call of the kernel for each.
  private static let interval = Duration.seconds(1)

  private let state: Mutex<State>
  private let told: @Sendable (String) -> Void

  /// Begins to look after them.
  ///
  /// - Parameters:
  ///   - daemons: The coordinator first.
  ///   - told: Is given a line about each that has ended.
  init(_ daemons: [DaemonProcess], told: @escaping @Sendable (String) -> Void) {
    let now = Self.now
    state = Mutex(
      State(all: daemons.map { Supervised(daemon: $0, pace: RestartPace(startedAt: now)) }))
    self.told = told
    // Whoever drops the cluster without a word ends it: the task must not hold it.
    let task = Task.detached { [weak self] in
      while true {
        do { try await Task.sleep(for: Self.interval) } catch { return }
        guard let self else { return }
        look(at: Self.now)
      }
    }
    state.withLock { $0.task = task }
  }

  deinit { state.withLock { $0.task?.cancel() } }

  private static var now: Instant { Instant(nanoseconds: MonotonicClock.now()) }

  /// Those that run now, the coordinator first.
  var daemons: [DaemonProcess] { state.withLock { $0.all.map(\.daemon) } }

  /// Starts what has ended. Costs the daemons, at most 65.
  private func look(at now: Instant) {
    var news: [String] = []
    state.withLock { state in
      guard !state.isEnding else { return }
      for at in state.all.indices {
        guard let status = state.all[at].daemon.endStatus else { continue }
        guard let restartAt = state.all[at].pace.restartAt else {
          state.all[at].pace.end(at: now)
          let name = state.all[at].daemon.name
          news.append("\(name) has ended (\(Self.words(for: status))) and is started again")
          continue
        }
        guard now >= restartAt else { continue }
        do throws(ClientError) {
          state.all[at].daemon = try state.all[at].daemon.startedAgain()
          state.all[at].pace.start(at: now)
        } catch {
          // As one that has ended at once.
          state.all[at].pace.start(at: now)
          state.all[at].pace.end(at: now)
          news.append(error.message)
        }
      }
    }
    for line in news { told(line) }
  }

  /// - Parameter status: As `waitpid` gives it.
  private static func words(for status: Int32) -> String {
    let signal = status & 0x7f
    return signal == 0 ? "status \(status >> 8 & 0xff)" : "signal \(signal)"
  }

  /// Ends the workers, then the coordinator.
  func end(grace: Duration) async {
    let (daemons, task) = state.withLock { state in
      state.isEnding = true
      return (state.all.map(\.daemon), state.task)
    }
    task?.cancel()
    await ClusterLaunch.end(daemons, grace: grace)
  }
}
