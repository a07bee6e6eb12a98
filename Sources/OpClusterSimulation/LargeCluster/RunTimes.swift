// How long operations run, as quantiles: those of five workflows of WfInstances
// (https://github.com/wfcommons/WfInstances, instances that ran on Chameleon), taken from
// `runtimeInSeconds` of all their tasks by linear interpolation between the sorted values. The
// files themselves are not here.

import OpClusterModel

/// A distribution of run times.
public struct RunTimes: Sendable {
  public let name: String
  /// The number of tasks whose run times were measured; 0: made up.
  public let tasks: Int
  /// Seconds, one for each of `shares`, ascending.
  let quantiles: [Double]
  /// What every quantile is multiplied with.
  private var factor = 1.0

  init(_ name: String, tasks: Int, _ quantiles: [Double]) {
    precondition(quantiles.count == Self.shares.count, "\(name) has another number of quantiles")
    self.name = name
    self.tasks = tasks
    self.quantiles = quantiles
  }

  /// The share of tasks that are at most as long as the quantile at the same position.
  static let shares = [0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.998, 1]

  /// All tasks are equally long.
  public static func constant(_ seconds: Double) -> RunTimes {
    RunTimes("constant", tasks: 0, Array(repeating: seconds, count: shares.count))
  }

  /// The five traces, by the name of the workflow.
  public static let traces = [
    // montage-chameleon-2mass-01d-001
    RunTimes(
      "montage", tasks: 103,
      [0.05, 0.051, 0.0601, 0.068, 0.102, 0.304, 0.721, 16.2, 16.4, 17.1, 17.3, 17.3]),
    // seismology-chameleon-1100p-001
    RunTimes(
      "seismology", tasks: 1101,
      [0.091, 0.101, 0.111, 0.131, 0.212, 0.398, 0.631, 1.26, 1.54, 2.39, 3.27, 4.09]),
    // epigenomics-chameleon-hep-1seq-100k-001
    RunTimes(
      "epigenomics", tasks: 41,
      [0.152, 0.171, 0.237, 0.305, 0.538, 0.691, 5.64, 56.2, 57.5, 59.1, 59.6, 59.7]),
    // bwa-chameleon-large-001
    RunTimes(
      "bwa", tasks: 1004,
      [0.0655, 2.76, 3.1, 3.46, 5.93, 12.1, 15.8, 20, 22.3, 26, 29, 1130]),
    // 1000genome-chameleon-2ch-100k-001
    RunTimes(
      "1000genome", tasks: 52,
      [0.309, 0.327, 3.24, 4.37, 10.1, 52.1, 99.7, 110, 112, 112, 112, 112]),
  ]

  /// The mean of what is drawn: the values lie evenly between neighbouring quantiles.
  public var mean: Double {
    zip(Self.shares.indices.dropLast(), quantiles.indices.dropFirst()).reduce(0) { sum, ends in
      let width = Self.shares[ends.1] - Self.shares[ends.0]
      return sum + width * (quantiles[ends.0] + quantiles[ends.1]) / 2
    } * factor
  }

  /// The same distribution, stretched to another mean.
  public func scaled(toMean seconds: Double) -> RunTimes {
    var scaled = self
    scaled.factor = mean > 0 ? factor * seconds / mean : factor
    return scaled
  }

  /// The seconds that a share of the tasks does not exceed.
  public func quantile(_ share: Double) -> Double {
    let above = Self.shares.firstIndex { $0 >= share } ?? Self.shares.count - 1
    if above == 0 { return quantiles[0] * factor }
    let (low, high) = (Self.shares[above - 1], Self.shares[above])
    let part = (share - low) / (high - low)
    return (quantiles[above - 1] + (quantiles[above] - quantiles[above - 1]) * part) * factor
  }

  /// The run time of one operation: by the seed and its name alone, so that it does not depend on
  /// when or where it runs.
  func span(of operation: OperationID, seed: UInt64) -> Span {
    var chance = Chance(
      seed, purpose: UInt64(operation.graph.number) << 32 | UInt64(operation.index))
    let share = Double(chance.next() >> 11) / Double(1 << 53)
    return .fractionalSeconds(quantile(share))
  }
}
