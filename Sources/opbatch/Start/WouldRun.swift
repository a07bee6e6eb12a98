// What of a manifest would run if it were submitted now, as the coordinator says (`check --reuse`).

import OpClusterModel
import OpClusterPresentation

/// By operation of the graph; its stages are those of the submission, in their order.
struct WouldRun {
  enum Verdict: String {
    case runs, reused, skipped
  }

  private let firsts: [UInt32]
  /// By operation.
  private var verdicts: [Verdict]
  /// By stage, how many run.
  private var running: [UInt32]

  init(_ submission: GraphSubmission, reused: OperationRuns, skipped: OperationRuns) {
    firsts = submission.firstIndices
    verdicts = Array(repeating: .runs, count: submission.operationCount)
    running = submission.templates.map(\.count)
    mark(reused, as: .reused)
    mark(skipped, as: .skipped)
    for (at, template) in submission.templates.enumerated() {
      // A joint ends by itself, but what people ask is whether anything is done.
      if template.work == .nothing { running[at] = 0 }
    }
  }

  /// Indices beyond the graph are passed over: the list comes from the network.
  private mutating func mark(_ runs: OperationRuns, as verdict: Verdict) {
    var stage = 0
    for at in 0..<runs.runCount {
      for index in runs.run(at) where Int(index) < verdicts.count {
        guard verdicts[Int(index)] == .runs else { continue }
        verdicts[Int(index)] = verdict
        while stage + 1 < running.count, index >= firsts[stage + 1] { stage += 1 }
        while stage > 0, index < firsts[stage] { stage -= 1 }
        running[stage] -= 1
      }
    }
  }

  /// The operations that would run, of all stages and of one.
  var runs: UInt32 { running.reduce(0) { $0.saturatingAdd($1) } }
  func runs(_ stage: Int) -> UInt32 { running[stage] }

  /// Of an element, counted from 0.
  func verdict(_ stage: Int, _ element: UInt32) -> Verdict {
    verdicts[Int(firsts[stage]) + Int(element)]
  }

  /// For the end of a line that has counted the operations.
  var summary: String { ", of which \(shownCount(runs)) would run" }
}
