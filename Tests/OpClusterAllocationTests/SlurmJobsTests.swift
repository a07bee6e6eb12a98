// What is said to Slurm, and what is read of its answers.

import OpClusterModel
import Testing

@testable import OpClusterAllocation

@Suite struct SlurmJobsTests {
  private let settings = AllocationSettings(
    name: "night", least: 0, most: 3, seconds: 3_601, idleSeconds: 300,
    arguments: ["--partition=main"], program: "/opt/it's here/opworker",
    coordinator: "tcp://head:7421", workerKeys: "/home/u/keys")

  @Test func theSubmission() {
    #expect(
      SlurmJobs.submission(settings, folder: "/home/u/100%") == [
        "sbatch", "--parsable", "--job-name=opcluster-night", "--time=61",
        "--signal=B:TERM@300", "--no-requeue", "--open-mode=append",
        "--output=/home/u/100%%/job-%j.log", "--partition=main",
      ])
  }

  @Test func theScript() {
    #expect(
      SlurmJobs.script(settings, staysIdle: false) == """
        #!/bin/sh
        exec '/opt/it'\\''s here/opworker' serve --name 'night-'"$SLURM_JOB_ID" \
        --label 'allocation=night' --drain 240 --exit-when-unreachable 600 \
        --exit-when-idle 300 --coordinator 'tcp://head:7421' --keys '/home/u/keys'

        """)
    #expect(!SlurmJobs.script(settings, staysIdle: true).contains("--exit-when-idle"))
  }

  @Test(arguments: [
    ("17\n", 17), ("17;east\n", 17), ("sbatch: warning: can't honor\n17\n", 17),
    ("sbatch: error: Batch job submission failed: Invalid partition\n", nil), ("", nil),
    ("99999999999999999999999\n", nil),
  ] as [(String, JobNumber?)])
  func theNumber(text: String, number: JobNumber?) {
    #expect(SlurmJobs.number(of: text) == number)
  }

  @Test func theList() {
    let text = """
      slurm_load_jobs: warning
      5|RUNNING
      6|PENDING
      7|COMPLETING
      8_[1-3]|PENDING
      x|RUNNING
      9|CONFIGURING
      """
    #expect(
      SlurmJobs.jobs(in: text) == [
        ListedJob(number: 5, isRunning: true), ListedJob(number: 6, isRunning: false),
        ListedJob(number: 9, isRunning: false),
      ])
  }

  @Test(arguments: ["-N2", "--nodes=2", "--array=1-3", "-t", "--wrap", "-o", "--time=3"])
  func whatWouldBreakItIsRefused(argument: String) throws {
    let refusal = try #require(SlurmJobs.refusal(of: ["-c", "4", argument]))
    #expect(refusal.hasPrefix("'\(argument)': "))
  }

  @Test func whatSaysWhatAJobGetsIsTaken() {
    #expect(
      SlurmJobs.refusal(of: ["-c", "4", "--mem=8G", "-p", "main", "--gres=gpu:1", "-A", "me"])
        == nil)
  }

  @Test func theLimitIsOfOneListing() {
    // Twenty bytes a line fit into what is read of a short program's output.
    #expect(Limits.allocatedJobs * 20 <= 16 * 1024)
  }
}
