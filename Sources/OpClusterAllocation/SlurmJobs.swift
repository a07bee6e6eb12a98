// What is said to Slurm, and what it answers: the arguments of `sbatch` and its script, the lines
// of `squeue`. Pure.


/// The number of a job in the batch system.
package typealias JobNumber = UInt64

/// A job that has not ended, as the batch system lists it.
package struct ListedJob: Equatable, Sendable {
  package var number: JobNumber
  package var isRunning: Bool

  package init(number: JobNumber, isRunning: Bool) {
    self.number = number
    self.isRunning = isRunning
  }
}

package enum SlurmJobs {
  /// The name of an allocation's jobs.
  package static func jobName(of allocation: String) -> String { "opcluster-\(allocation)" }

  /// The name of a job's worker.
  package static func workerName(of job: JobNumber, in allocation: String) -> String {
    "\(allocation)-\(job)"
  }

  /// The command that submits a job; the script goes to its standard input.
  /// - Parameter folder: Where the output of jobs is kept.
  package static func submission(_ settings: AllocationSettings, folder: String) -> [String] {
    // Slurm counts minutes; a part of one is given away rather than taken.
    let minutes = max(1, settings.seconds / 60 + (settings.seconds % 60 > 0 ? 1 : 0))
    return [
      "sbatch", "--parsable", "--job-name=\(jobName(of: settings.name))", "--time=\(minutes)",
      // To the batch script alone, which is the worker: a drain, not an end.
      "--signal=B:TERM@\(settings.drainSeconds)", "--no-requeue", "--open-mode=append",
      "--output=\(folder.replacing("%", with: "%%"))/job-%j.log",
    ] + settings.arguments
  }

  /// The script of a job. It becomes the worker, which so gets the signal before the job's end.
  /// - Parameter staysIdle: Whether its worker stays without work.
  package static func script(_ settings: AllocationSettings, staysIdle: Bool) -> String {
    var words = [
      quoted(settings.program), "serve", "--name",
      quoted(settings.name + "-") + "\"$SLURM_JOB_ID\"",
      "--label", quoted("allocation=\(settings.name)"),
      // A fifth is for what does not end by itself.
      "--drain", "\(settings.drainSeconds / 5 * 4)", "--exit-when-unreachable", "600",
    ]
    if !staysIdle { words += ["--exit-when-idle", "\(settings.idleSeconds)"] }
    if let coordinator = settings.coordinator { words += ["--coordinator", quoted(coordinator)] }
    if let keys = settings.workerKeys { words += ["--keys", quoted(keys)] }
    if settings.allowsRoot { words.append("--allow-root") }
    return "#!/bin/sh\nexec \(words.joined(separator: " "))\n"
  }

  /// Reads what `sbatch --parsable` has written, warnings among it.
  /// - Returns: nil if there is no number in it.
  package static func number(of text: String) -> JobNumber? {
    for line in text.split(separator: "\n").reversed() {
      let word = line.split(separator: ";").first ?? line
      if let number = JobNumber(word.filter { !$0.isWhitespace }) { return number }
    }
    return nil
  }

  /// The command that lists an allocation's jobs.
  package static func listing(_ allocation: String) -> [String] {
    ["squeue", "--me", "--noheader", "--name=\(jobName(of: allocation))", "--format=%i|%T"]
  }

  /// Reads that list; lines that are no jobs are warnings. Costs the lines.
  package static func jobs(in text: String) -> [ListedJob] {
    text.split(separator: "\n").compactMap { line in
      let words = line.split(separator: "|")
      guard words.count == 2, let number = JobNumber(words[0].filter { !$0.isWhitespace }) else {
        return nil
      }
      // A job that is completing has no worker any more.
      return ["COMPLETING", "COMPLETED", "FAILED", "CANCELLED", "TIMEOUT"].contains(words[1])
        ? nil : ListedJob(number: number, isRunning: words[1] == "RUNNING")
    }
  }

  /// The command that asks jobs to drain, or ends them.
  package static func end(_ jobs: [JobNumber], atOnce: Bool) -> [String] {
    let numbers = jobs.map { "\($0)" }
    return ["scancel"] + (atOnce ? [] : ["--signal=TERM", "--batch"]) + numbers
  }

  /// The arguments of `sbatch` that would break an allocation, and what to write instead.
  package static func refusal(of arguments: [String]) -> String? {
    for argument in arguments {
      let name = argument.prefix { $0 != "=" }
      if let reason = refused.first(where: { $0.names.contains(String(name)) })?.reason {
        return "'\(argument)': \(reason)"
      }
      if !argument.hasPrefix("--"), argument.hasPrefix("-"),
        let reason = refused.first(where: { $0.names.contains(String(argument.prefix(2))) })?.reason
      {
        return "'\(argument)': \(reason)"
      }
    }
    return nil
  }

  private static let refused: [(names: [String], reason: String)] = [
    (
      ["-N", "--nodes", "-n", "--ntasks", "--ntasks-per-node"],
      "a job is one worker; ask for more by --workers"
    ),
    (["-a", "--array"], "jobs are submitted one by one, as they are needed"),
    (["-t", "--time"], "write --time before the --"),
    (["-J", "--job-name"], "the allocation's jobs are found by their name"),
    (["--wrap"], "the job's script is the worker"),
    (["-o", "--output"], "'opbatch alloc log' shows what a job wrote"),
    (["--signal", "--requeue", "--parsable"], "the allocation says this itself"),
  ]

  /// A word that a shell takes as it is.
  private static func quoted(_ word: String) -> String {
    "'" + word.replacing("'", with: "'\\''") + "'"
  }
}
