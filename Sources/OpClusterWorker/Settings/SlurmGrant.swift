// What Slurm has granted to the job, or to the task of a step, that this process is. Pure: the
// variables come as a function.

import OpClusterModel

/// The share of a machine that a job of Slurm may use.
///
/// Slurm tells a job what it got in variables; only where its cluster is set up to, do affinity
/// masks and cgroups say the same. So a worker in a job asks here first.
struct SlurmGrant: Equatable {
  /// Processors on this node; nil: not said.
  var cpus: ResourceAmount?
  /// Memory on this node, in bytes; nil: not said, or all of the node.
  var memoryBytes: Int64?
  /// Whether Slurm has granted gpus on this node.
  var hasGPUs: Bool

  /// - Parameter variable: The process's environment.
  /// - Returns: nil outside of a job.
  init?(_ variable: (String) -> String?) {
    guard variable("SLURM_JOB_ID") != nil else { return nil }
    func number(_ name: String) -> Int64? {
      variable(name).flatMap { Int64($0) }.flatMap { (1...Self.most).contains($0) ? $0 : nil }
    }
    let ofNode = number("SLURM_CPUS_ON_NODE")
    let ofTask = number("SLURM_CPUS_PER_TASK")
    // A batch script has its node alone; tasks of a step share theirs.
    let isTask = variable("SLURM_STEP_ID").map { UInt32($0) != nil } ?? false
    let granted = isTask ? ofTask ?? ofNode : ofNode ?? ofTask
    cpus = granted.map { ResourceAmount($0) }
    let ofCPU = number("SLURM_MEM_PER_CPU")
    let mebibytes: Int64? =
      if !isTask, let whole = number("SLURM_MEM_PER_NODE") {
        whole
      } else if let ofCPU, let granted {
        ofCPU.multipliedReportingOverflow(by: granted).partialValue
      } else if let whole = number("SLURM_MEM_PER_NODE"), let granted, let ofNode {
        // The tasks of a node share its memory as they share its processors.
        whole / max(1, ofNode / granted)
      } else {
        nil
      }
    memoryBytes = mebibytes.flatMap { (1...Self.most).contains($0) ? $0 << 20 : nil }
    hasGPUs = ["SLURM_STEP_GPUS", "SLURM_JOB_GPUS", "SLURM_GPUS_ON_NODE"].contains {
      variable($0).map { !$0.isEmpty && $0 != "0" } ?? false
    }
  }

  /// No machine has more processors, or mebibytes of memory.
  private static let most: Int64 = 1 << 40
}
