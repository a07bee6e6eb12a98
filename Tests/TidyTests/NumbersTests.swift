// Numbers that came from outside never meet an operator that can trap (G33): times are added up by
// the operators of `Time.swift`; what has decimals becomes a whole number by `init(saturating:)`.

import Testing

@Suite struct Numbers {
  /// Where times are made, and where they are none of a message's: a virtual clock, a benchmark.
  private static let exempt = [
    "Sources/OpClusterModel/Time.swift", "Sources/OpClusterSimulation/", "Sources/opbench/",
    "Sources/opsim/", "Sources/ExampleMaterials/",
  ]

  /// Sums, differences and products of the numbers inside a time.
  @Test func timesAreAddedUpByTheirOperators() throws {
    for file in try Tree.swiftFiles()
    where file.path.hasPrefix("Sources/") && !Self.exempt.contains(where: file.path.hasPrefix) {
      for (number, line) in file.codeLines where Self.addsUpTimes(line) {
        Issue.record("\(file.path):\(number) adds up the number inside a time")
      }
    }
  }

  @Test func aSumIsSeen() {
    #expect(Self.addsUpTimes("let a = b.nanoseconds - c"))
    #expect(Self.addsUpTimes("let a = c * b.milliseconds"))
    #expect(Self.addsUpTimes("a.nanoseconds += 1"))
    #expect(!Self.addsUpTimes("let a = b.nanoseconds / 1_000"))
    #expect(!Self.addsUpTimes("let a = now + .milliseconds(100)"))
    #expect(!Self.addsUpTimes("send(b.milliseconds, -1)"))
  }

  private static func addsUpTimes(_ line: String) -> Bool {
    for name in ["nanoseconds", "milliseconds"] {
      for found in line.ranges(of: "." + name) {
        let after = line[found.upperBound...].drop { $0 == " " || $0 == ")" }
        if after.first.map({ "+-*".contains($0) }) == true { return true }
        // `.milliseconds(100)` makes a time.
        if line[found.upperBound...].first == "(" { continue }
        let before = line[..<found.lowerBound]
          .reversed().drop { $0.isLetter || $0.isNumber || "._?!".contains($0) }
        guard before.first == " " else { continue }
        let sign = before.drop { $0 == " " }
        if let last = sign.first, "+-*".contains(last), sign.dropFirst().first == " " {
          return true
        }
      }
    }
    return false
  }

  /// Conversions of numbers with decimals, which trap beyond the whole numbers.
  @Test func decimalsBecomeWholeNumbersSafely() throws {
    let words = [".rounded(", ".seconds)", "Double(", ".seconds *"]
    for file in try Tree.swiftFiles()
    where file.path.hasPrefix("Sources/") && !Self.exempt.contains(where: file.path.hasPrefix)
      && file.path != "Sources/OpClusterModel/SaturatingNumbers.swift"
    {
      for (number, line) in file.codeLines {
        for type in ["Int(", "Int64(", "Int32(", "UInt32(", "UInt64("] {
          for found in line.ranges(of: type) where !Self.continuesWord(line, found.lowerBound) {
            let rest = line[found.upperBound...]
            if rest.hasPrefix("saturating:") || rest.hasPrefix("clamping:") { continue }
            if words.contains(where: rest.prefix(60).contains) {
              Issue.record("\(file.path):\(number) converts decimals by \(type)…)")
            }
          }
        }
      }
    }
  }

  private static func continuesWord(_ line: String, _ start: String.Index) -> Bool {
    guard start > line.startIndex else { return false }
    let before = line[line.index(before: start)]
    return before.isLetter || before == "U"
  }
}
