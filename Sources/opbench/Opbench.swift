// `opbench`: runs the workloads of the README's table through real daemons, beside Foundation's own
// queue and bare floors in the same run. Medians; a table for people, JSON for programs. It
// measures without a verdict.

import ArgumentParser
import OpClusterClient

@main
struct Opbench: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "opbench",
    abstract: "Measure OpCluster next to Foundation's queue and bare floors.",
    discussion: """
      Every run starts a fresh cluster (a coordinator and two workers as separate processes, the \
      journal on disk), warms it up, and is timed from the first submission call until the client \
      knows that everything has finished.
      """,
    subcommands: [
      Run.self, Compare.self, InProcess.self, CoreCommand.self, SpawnFloor.self, BareTransfer.self,
    ],
    defaultSubcommand: Run.self)

  static func main() async {
    BenchWorker.serveIfAsked()
    await main(nil)
  }

  struct Run: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Run workloads and print a table.")

    @Option(name: .shortAndLong, help: "Workloads, by commas (default: all but W15 to W19).")
    var workloads = Workload.usual.map(\.rawValue).joined(separator: ",")

    @Option(help: "Runs of each; medians are shown.")
    var runs = 5

    @Flag(help: "Leave Foundation's queue out.")
    var skipFoundation = false

    @Flag(help: "Print JSON lines instead of a table.")
    var json = false

    mutating func run() async throws {
      var report = Report(isJSON: json)
      // Upper case, so that `-w w4` is understood.
      for name in workloads.split(separator: ",") {
        guard let workload = Workload(rawValue: name.uppercased()) else {
          let names = Workload.allCases.map(\.rawValue).joined(separator: ", ")
          throw ValidationError("there is no workload \(name); there are \(names)")
        }
        try await measure(workload, &report)
      }
      report.finish()
    }

    private func measure(_ workload: Workload, _ report: inout Report) async throws {
      // By series: some workloads have two figures of one cluster.
      var ours: [String: [Double]] = [:]
      var theirs: [String: [Double]] = [:]
      var floor: [String: [Double]] = [:]
      // In turn, so that a slowdown of the machine affects all of them.
      for _ in 0..<max(runs, 1) {
        for (series, value) in try await workload.measureCluster() {
          ours[series, default: []].append(value)
        }
        if !skipFoundation, let value = workload.measureFoundation() {
          theirs["", default: []].append(value)
        }
        if let value = try workload.measureFloor() { floor["", default: []].append(value) }
      }
      report.addRows(workload, ours: ours, foundation: theirs[""], floor: floor[""])
    }
  }
}
