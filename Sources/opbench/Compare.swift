// Compares two builds of OpCluster: each workload by the `opbench` of one and of the other, in
// turn. A machine is never as fast as an hour ago, so that figures of different times say little;
// ratios of pairs do.

import ArgumentParser
import FoundationEssentials

struct Compare: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Compare two builds in alternating runs.",
    discussion: """
      A build is the folder of its programs, as 'swift build -c release --show-bin-path' prints it.
      """)

  @Argument(help: "The folder of the one build.") var before: String
  @Argument(help: "The folder of the other.") var after: String

  @Option(name: .shortAndLong, help: "Workloads, by commas (default: all but W15 to W19).")
  var workloads = Workload.usual.map(\.rawValue).joined(separator: ",")

  @Option(help: "Pairs of runs of each; medians are shown.")
  var runs = 5

  /// A line of `opbench run --json`.
  private struct Line: Decodable {
    var title: String
    var median: Double
  }

  func run() throws {
    print("| | workload | before | after | after / before (min..max) |")
    print("|---|---|---|---|---|")
    for name in workloads.split(separator: ",").map({ $0.uppercased() }) {
      var titles: [String] = []
      var values: [String: (before: [Double], after: [Double])] = [:]
      for pair in 0..<max(runs, 1) {
        // Neither is always the first, since the first may find other caches.
        let isTurned = pair % 2 == 1
        let first = try measure(name, isTurned ? after : before)
        let second = try measure(name, isTurned ? before : after)
        let (olds, news) = isTurned ? (second, first) : (first, second)
        for old in olds {
          // A build may have a series that the other lacks.
          guard let new = news.first(where: { $0.title == old.title }) else { continue }
          if values[old.title] == nil { titles.append(old.title) }
          values[old.title, default: ([], [])].before.append(old.median)
          values[old.title]?.after.append(new.median)
        }
      }
      for title in titles { values[title].map { show(name, title, $0.before, $0.after) } }
    }
  }

  private func show(_ name: String, _ title: String, _ before: [Double], _ after: [Double]) {
    let ratios = zip(after, before).map { $0 / $1 }
    print(
      "| \(name) | \(title) | \(Report.shown(before.median)) | \(Report.shown(after.median)) "
        + "| \(Report.shown(ratios.median)) (\(Report.shown(ratios.min() ?? 0))"
        + "..\(Report.shown(ratios.max() ?? 0))) |")
  }

  private func measure(_ workload: String, _ folder: String) throws -> [Line] {
    // A folder of our own: a file with a known name in a folder of all could be another's link.
    let place = FileManager.default.temporaryDirectory
      .appending(path: "opbench-\(String(UInt64.random(in: 0...(.max)), radix: 36))").path
    try FileManager.default.createDirectory(
      atPath: place, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(atPath: place) }
    do {
      // The shell writes to the file, and is gone when the program begins.
      try Spawning.awaitEnd(
        of: Spawning.spawn([
          "/bin/sh", "-c", "output=$1; shift; exec \"$@\" > \"$output\"", "sh", "\(place)/lines",
          "\(folder)/opbench", "run", "-w", workload, "--runs", "1", "--skip-foundation", "--json",
        ]))
    } catch {
      throw ValidationError(
        "the opbench in \(folder) does not measure \(workload), or there is none: \(error)")
    }
    let text = contents(ofFile: "\(place)/lines") ?? ""
    return try text.split(separator: "\n").map {
      try JSONDecoder().decode(Line.self, from: Data($0.utf8))
    }
  }
}
