// The fuzzer's command: seeded cases of hostile traffic (FuzzWorld), one after the other, until so
// many messages have gone through. A case that crashes, hangs or breaks something prints its seed;
// `FuzzRunner --seed S --trace` shows it.

import ArgumentParser
import FuzzWorld
import Glibc
import Synchronization

@main
struct FuzzRunner: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "FuzzRunner", abstract: "Hostile messages to every role, from seeds (G33).")
  @Option(help: "How many messages.") var messages = 1_000_000
  @Option(help: "The first seed.") var from: UInt64 = 0
  @Option(help: "This seed only.") var seed: UInt64?
  @Flag(help: "Print every message; with --seed.") var trace = false
  @Option(help: "Seconds that one case may take.") var patience = 30

  func run() throws {
    Watch.begin(patience: patience)
    if let seed {
      Watch.note(seed)
      let report = FuzzCase.run(seed: seed, trace: trace ? { print($0) } : nil)
      return try finish(report, cases: 1, seconds: 0)
    }
    var total = FuzzReport()
    var next = from
    let begin = ContinuousClock.now
    while total.messages < messages, total.problem == nil {
      Watch.note(next)
      total.add(FuzzCase.run(seed: next))
      next += 1
    }
    let seconds = begin.duration(to: .now) / .seconds(1)
    try finish(total, cases: next - from, seconds: seconds)
  }

  private func finish(_ report: FuzzReport, cases: UInt64, seconds: Double) throws {
    for hop in FuzzHop.allCases {
      print("\(hop): \(report.delivered[hop.rawValue]), rejected \(report.rejected[hop.rawValue])")
    }
    print(
      "requests accepted \(report.accepted), refused \(report.refused); "
        + "attempts launched \(report.launched)")
    print("slowest message \(report.slowest), seed \(report.slowestSeed)")
    print("peak memory \(Watch.peakMemory >> 20) MiB")
    let rate = seconds > 0 ? "\(Int(Double(report.messages) / seconds)) messages/s" : ""
    print("\(report.messages) messages in \(cases) cases, \(rate)")
    if let problem = report.problem {
      print(problem)
      throw ExitCode(1)
    }
  }
}
