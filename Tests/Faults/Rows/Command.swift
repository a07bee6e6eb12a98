// The command behind `deploy/faults`: which rows, how much of them, one block for each and a table
// at the end. Its process has namespaces of its own where the machine allows it, so that nothing
// of a run outlives it.

import ArgumentParser
import Glibc
import RealCluster

@main
struct FaultCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "faults", abstract: "Runs rows of the fault table against real daemons.",
    discussion: "Exit codes: 0 no row failed, 1 a row failed, 64 there is no such row.")

  @Argument(help: "Rows, such as F1 F22; none means all.") var rows: [String] = []
  @Flag(help: "Print the rows and end.") var list = false
  @Flag(help: "The short form of the rows that have one.") var short = false
  @Flag(help: "Only those in which somebody means ill.") var attacks = false
  @Option(help: "The part of the full load and of the full counts, 0.01 to 1.") var part = 1.0

  @Option(help: .hidden) var flood: String?
  @Option(help: .hidden) var capped: Int?
  @Option(help: .hidden) var neighbour: String?
  @Option(help: .hidden) var burn: Double?

  func run() async throws {
    if let flood { return try await Self.flood(flood, rows) }
    if let capped { return Self.say(try await cap(capped)) }
    if let neighbour, let address = rows.first {
      return try await Flood(rawValue: neighbour)?.run(at: address) ?? ()
    }
    if let burn { return Flood.burn(burn) }
    let chosen = try chosenRows()
    if list {
      for row in chosen {
        Self.say("\(row.number)\(row.isShort ? "*" : "")  \(row.name)  (\(row.promise))")
      }
      return Self.say("* also in the short selection")
    }
    let scale = Scale(isShort: short, part: min(1, max(0.01, part)))
    var results: [RowResult] = []
    for row in chosen {
      let result = await RowResult.of(row, scale)
      Self.say(result.text + "\n")
      results.append(result)
    }
    Self.say(Self.table(results))
    if results.contains(where: { if case .failed = $0.verdict { true } else { false } }) {
      throw ExitCode(1)
    }
  }

  private static func flood(_ address: String, _ rows: [String]) async throws {
    try await FaultRows.flood(address, rows.first.flatMap { Int($0) } ?? 1)
  }

  private func chosenRows() throws -> [FaultRow] {
    if rows.isEmpty {
      return (attacks ? FaultRow.attacks : FaultRow.all).filter { !short || $0.isShort }
    }
    return try rows.map { name in
      guard let row = FaultRow.all.first(where: { $0.number == name.uppercased() }) else {
        throw ValidationError("there is no row \(name); --list prints them")
      }
      return row
    }
  }

  private static func table(_ results: [RowResult]) -> String {
    var lines = ["row  verdict  seconds  fault"]
    for result in results {
      let injected = result.injections.reduce(0) { $0 + $1.count }
      lines.append(
        [
          pad(result.row.number, 4), pad(result.verdict.word, 8),
          pad("\(Int(result.seconds.rounded()))", 8), "\(result.row.name), injected \(injected)×",
        ].joined(separator: " "))
    }
    return lines.joined(separator: "\n")
  }

  /// At once, so that a long run can be followed.
  private static func say(_ text: String) {
    var rest = Array((text + "\n").utf8)[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes { unsafe write(1, $0.baseAddress, $0.count) }
      if count <= 0 { return }
      rest = rest.dropFirst(count)
    }
  }

  private static func pad(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }
}
