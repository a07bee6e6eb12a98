// `opbench core`: what an event costs the coordinator's decisions in worlds of several sizes, as
// time and as an exponent: 0 where the size does not matter, 1 where it costs as much as
// the world is large.

import ArgumentParser
import Glibc

struct CoreCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "core",
    abstract: "Measure events in small and large worlds, in this process, without disk or network.")

  @Option(help: "Ways in which a world is large, separated by commas (default: all).")
  var dimensions = CoreDimension.allCases.map(\.rawValue).joined(separator: ",")

  @Option(help: "Numbers of things in a world; none above what a cluster accepts.")
  var sizes = "1000,10000,100000,1000000"

  @Option(help: "Runs of each event; medians are shown.")
  var runs = 15

  @Flag(help: "Show only events with an exponent above 0.1.")
  var steep = false

  @Flag(help: "Measure instead what changes many operations at once: its longest turn.")
  var changes = false

  @Option(help: "Measure only changes whose row contains this text.")
  var only: String?

  /// One world after the other, so that the memory of only one is held.
  func run() throws {
    let sizes = try sizes.split(separator: ",").map { text in
      guard let size = Int(text), (1...10_000_000).contains(size) else {
        throw ValidationError("\(text) is not a size from 1 to 10,000,000")
      }
      return size
    }
    if changes { return measureChanges(sizes) }
    for name in dimensions.split(separator: ",") {
      guard let dimension = CoreDimension(rawValue: String(name)) else {
        let all = CoreDimension.allCases.map(\.rawValue).joined(separator: ", ")
        throw ValidationError("there is no dimension \(name); there are \(all)")
      }
      // Sizes beyond the bound of a dimension become the bound, once.
      measure(dimension, Set(sizes.map { min($0, dimension.most) }).sorted())
    }
  }

  /// Prints a table: events as rows, sizes as columns.
  private func measure(_ dimension: CoreDimension, _ sizes: [Int]) {
    var columns: [[CoreEvent: Double]] = []
    for size in sizes {
      var world = dimension.world(size)
      var column: [CoreEvent: Double] = [:]
      for event in CoreEvent.allCases {
        // The first ones grow tables and caches.
        let values = (0..<runs + 3).compactMap { round in
          world.settle()
          return event.measure(in: &world, round)
        }.dropFirst(3)
        if !values.isEmpty { column[event] = values.map { $0 / .microseconds(1) }.median }
      }
      columns.append(column)
    }
    let heads = sizes.map(String.init).joined(separator: " | ")
    print("| \(dimension.rawValue), µs | \(heads) | exponent |")
    print("|---|\(String(repeating: "---|", count: sizes.count + 1))")
    for event in CoreEvent.allCases {
      let values = columns.map { $0[event] }
      let exponent = exponent(sizes, values)
      // Without two sizes there is no exponent, and nothing that could be steep.
      if steep, exponent.map({ $0 <= 0.1 }) ?? true { continue }
      let cells =
        values.map { $0.map { tenths($0) } ?? "–" } + [exponent.map { hundredths($0) } ?? "–"]
      print("| \(event.rawValue) | \(cells.joined(separator: " | ")) |")
    }
    print("")
  }

  /// Prints a table of the longest turns, and of the time for each operation.
  private func measureChanges(_ sizes: [Int]) {
    let heads = sizes.map { "\($0): longest turn, ms | each, µs" }.joined(separator: " | ")
    print("| operations | \(heads) |")
    print("|---|\(String(repeating: "---|---|", count: sizes.count))")
    for change in CoreChange.allCases where only.map(change.rawValue.contains) ?? true {
      let cells = sizes.map { size in
        let values = (0..<runs).map { _ in change.measure(size) }
        let longest = values.map { $0.longestTurn / .milliseconds(1) }.median
        let each = values.map { $0.all / .microseconds(size) }.median
        return "\(tenths(longest)) | \(hundredths(each))"
      }
      print("| \(change.rawValue) | \(cells.joined(separator: " | ")) |")
    }
    print("")
  }

  /// The slope of the logarithms between the smallest and the largest size.
  private func exponent(_ sizes: [Int], _ values: [Double?]) -> Double? {
    guard sizes.count > 1, let first = values.first ?? nil, let last = values.last ?? nil,
      first > 0, last > 0
    else { return nil }
    return log(last / first) / log(Double(sizes[sizes.count - 1]) / Double(sizes[0]))
  }

  // Rounded for people: a table says more with few digits. A difference of a tenth of a microsecond
  // is less than what two runs differ by.
  private func tenths(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }
  private func hundredths(_ value: Double) -> String { "\((value * 100).rounded() / 100)" }
}
