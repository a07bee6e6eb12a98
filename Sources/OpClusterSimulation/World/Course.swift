// The course of an attempt: its duration and end, only from the seed and its name, so that it does
// not depend on when or where it runs.

import OpClusterModel

struct Course: Sendable {
  enum Reaction: Sendable {
    case obey(after: Span)
    /// It is about to end anyway and reports its own result.
    case goOn
    case ignore
  }
  var duration: Span
  var result: AttemptResult
  var onStop: Reaction

  private init(duration: Span, result: AttemptResult, onStop: Reaction) {
    (self.duration, self.result, self.onStop) = (duration, result, onStop)
  }

  /// The attempt's number is the purpose of the generator, so that each attempt of an operation
  /// differs. The order of the draws is part of what a seed means.
  init(seed: UInt64, attempt: AttemptID, plan: Plan, isExclusive: Bool) {
    let operation = attempt.operation
    let name = UInt64(operation.graph.number) << 32 | UInt64(operation.index)
    var chance = Chance(seed ^ Chance.mix(name), purpose: 1000 + UInt64(attempt.attempt))
    duration = Course.duration(plan.pace, &chance)
    result = Course.result(plan, &chance)
    switch chance.below(10) {
    case 0: onStop = .ignore
    case 1, 2: onStop = .goOn
    default: onStop = .obey(after: chance.microseconds(100, 80_000))
    }
    // Some outlive the loss of their worker, else nothing would need the guard (G16); not in large
    // graphs, where they would exceed the time limit of the second half.
    if isExclusive, plan.size < 40, chance.percent(30) {
      duration = chance.milliseconds(15_000, 60_000)
    }
  }

  /// Up to nine seconds, which is long beside heartbeats and shorter than a lease.
  private static func duration(_ pace: Plan.Pace, _ chance: inout Chance) -> Span {
    switch pace {
    case .fast: chance.percent(20) ? .zero : chance.microseconds(50, 3_000)
    case .mixed:
      chance.percent(60) ? chance.microseconds(0, 20_000) : chance.milliseconds(20, 4_000)
    case .slow: chance.milliseconds(100, 9_000)
    }
  }

  /// A quarter of the successes leave an output; most, where outputs lie in stores.
  private static func result(_ plan: Plan, _ chance: inout Chance) -> AttemptResult {
    var result = AttemptResult()
    if chance.percent(plan.failurePercent) {
      switch chance.below(4) {
      case 0: result.cause = .signal
      case 1: result.cause = .outOfMemory
      default:
        result.cause = .failed
        result.exitStatus = Int32(chance.between(1, 3))
      }
      if result.cause != .failed { result.signal = 9 }
    } else if chance.percent(plan.contentPercent > 0 ? 80 : 25) {
      result.output = [UInt8](repeating: UInt8(chance.below(256)), count: chance.between(1, 20))
    }
    return result
  }

  /// An attempt that cannot be started.
  static let unable: Course = {
    var result = AttemptResult()
    result.cause = .cannotStart
    result.diagnostic = "the working directory cannot be entered"
    return Course(duration: .zero, result: result, onStop: .goOn)
  }()
  /// The result of an attempt that obeyed a stop.
  static let stopped: AttemptResult = {
    var result = AttemptResult()
    result.cause = .signal
    result.signal = 15
    return result
  }()
  /// The result of an attempt that its worker or the guard killed.
  static let killed: AttemptResult = {
    var result = AttemptResult()
    result.cause = .signal
    result.signal = 9
    return result
  }()
}
