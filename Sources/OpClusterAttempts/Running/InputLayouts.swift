// What attempts read of the store is made readable before they begin, on threads of its own: there
// may be thousands of files, and contents that have not been read since the worker began are
// compared with their digests first. The loop must answer meanwhile.

import OpClusterModel
import OpClusterSystem
import Synchronization

/// Attempts that wait for their inputs. On the thread of its `AttemptRunner`.
final class InputLayouts {
  /// An attempt whose inputs are being laid out.
  private struct Waiting {
    var job: Job
    var argument: [UInt8]
    let order: LayoutOrder
  }

  private var waiting: [AttemptID: Waiting] = [:]
  private let store: AttemptStore
  private let threads: WorkThreads<LayoutOrder>
  /// Never full: each attempt has one.
  private let ends: Mailbox<LayoutEnd>

  init(_ store: AttemptStore) throws(SystemError) {
    self.store = store
    let ends = try Mailbox<LayoutEnd>(capacity: .max)
    self.ends = ends
    threads = WorkThreads(named: "inputs", atMost: Limits.inputThreads) { order in
      guard order.begin() else { return }
      do throws(AttemptProblem) {
        try store.layOut(order.job, in: order.folder) { order.isWithdrawn }
        _ = ends.post(LayoutEnd(attempt: order.job.attempt, problem: nil))
      } catch {
        _ = ends.post(LayoutEnd(attempt: order.job.attempt, problem: error))
      }
    }
  }

  /// Readable if `takeEnded` has work.
  var descriptor: Int32 { ends.descriptor }

  func isWaiting(_ attempt: AttemptID) -> Bool { waiting[attempt] != nil }

  /// Begins to lay out what a job reads in a folder.
  func begin(_ job: Job, argument: [UInt8], in folder: String) {
    let order = LayoutOrder(job, in: folder)
    waiting[job.attempt] = Waiting(job: job, argument: argument, order: order)
    threads.add(order)
  }

  /// The attempt will not begin. Its end follows nevertheless.
  func withdraw(_ attempt: AttemptID) {
    guard waiting[attempt]?.order.withdraw() == true else { return }
    _ = ends.post(LayoutEnd(attempt: attempt, problem: nil))
  }

  /// What may begin now, and the results of what will not.
  func takeEnded() -> (ready: [(Job, argument: [UInt8])], ended: [(AttemptID, AttemptResult)]) {
    if waiting.isEmpty { return ([], []) }
    var news: [LayoutEnd] = []
    ends.takeAll(into: &news)
    var ready: [(Job, argument: [UInt8])] = []
    var ended: [(AttemptID, AttemptResult)] = []
    for end in news {
      guard let one = waiting.removeValue(forKey: end.attempt) else { continue }
      if one.order.isWithdrawn {
        var result = AttemptResult()
        result.cause = .failed
        result.diagnostic = "it was stopped before it began"
        ended.append((end.attempt, result))
      } else if let problem = end.problem {
        ended.append((end.attempt, problem.result))
      } else {
        ready.append((one.job, one.argument))
      }
    }
    return (ready, ended)
  }
}

/// Inputs that are to be laid out, and whether anybody still wants them.
final class LayoutOrder: Sendable {
  let job: Job
  let folder: String
  private enum State: UInt8, AtomicRepresentable {
    case waits, begun, withdrawn
  }
  private let state = Atomic<State>(.waits)

  init(_ job: Job, in folder: String) {
    self.job = job
    self.folder = folder
  }

  /// False: nobody wants it any more.
  func begin() -> Bool {
    state.compareExchange(expected: .waits, desired: .begun, ordering: .relaxed).exchanged
  }

  /// Whether it had not begun: nothing more comes of it then.
  func withdraw() -> Bool {
    state.exchange(.withdrawn, ordering: .relaxed) == .waits
  }

  var isWithdrawn: Bool { state.load(ordering: .relaxed) == .withdrawn }
}

private struct LayoutEnd: Sendable {
  var attempt: AttemptID
  /// nil: all is there.
  var problem: AttemptProblem?
}
