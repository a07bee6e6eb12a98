// What a worker in a job of Slurm offers.

import OpClusterModel
import Testing

@testable import OpClusterWorker

@Suite struct SlurmGrantTests {
  private func grant(_ variables: [String: String]) -> SlurmGrant? {
    SlurmGrant { variables[$0] }
  }

  @Test func outsideOfAJobThereIsNone() {
    #expect(grant(["SLURM_CPUS_ON_NODE": "4"]) == nil)
  }

  /// As slurmd 22.05 sets them for `sbatch -c 2 --mem=500`.
  @Test func aBatchScriptHasItsNode() {
    let job = grant([
      "SLURM_JOB_ID": "1", "SLURM_CPUS_ON_NODE": "2", "SLURM_CPUS_PER_TASK": "2",
      "SLURM_MEM_PER_NODE": "500",
    ])
    #expect(job?.cpus == ResourceAmount(2))
    #expect(job?.memoryBytes == 500 << 20)
    #expect(job?.hasGPUs == false)
    let perCPU = grant([
      "SLURM_JOB_ID": "1", "SLURM_CPUS_ON_NODE": "4", "SLURM_MEM_PER_CPU": "250",
    ])
    #expect(perCPU?.memoryBytes == 1000 << 20)
  }

  /// `srun --ntasks-per-node=2 -c 3 opworker`: each gets its part.
  @Test func aTaskHasItsPart() {
    let task = grant([
      "SLURM_JOB_ID": "1", "SLURM_STEP_ID": "0", "SLURM_CPUS_ON_NODE": "6",
      "SLURM_CPUS_PER_TASK": "3", "SLURM_MEM_PER_NODE": "1000", "SLURM_STEP_GPUS": "0,1",
    ])
    #expect(task?.cpus == ResourceAmount(3))
    #expect(task?.memoryBytes == 500 << 20)
    #expect(task?.hasGPUs == true)
  }

  /// Numbers that cannot be are as none.
  @Test(arguments: ["", "0", "-1", "x", "9223372036854775807", "99999999999999999999"])
  func whatCannotBeIsNotSaid(text: String) {
    let job = grant([
      "SLURM_JOB_ID": "1", "SLURM_CPUS_ON_NODE": text, "SLURM_MEM_PER_NODE": text,
      "SLURM_MEM_PER_CPU": text,
    ])
    #expect(job == SlurmGrant { $0 == "SLURM_JOB_ID" ? "1" : nil })
  }

  @Test func aProductBeyondAllIsNotSaid() {
    let job = grant([
      "SLURM_JOB_ID": "1", "SLURM_CPUS_ON_NODE": "1099511627776",
      "SLURM_MEM_PER_CPU": "1099511627776",
    ])
    #expect(job?.memoryBytes == nil)
  }
}
