// The README's table of differences, read back.

import Foundation

enum Readme {
  struct Unreadable: Error {}

  /// The cases that have a row.
  static func differing() throws -> Set<Int> {
    Set(try section().filter { $0.hasPrefix("| C") }.compactMap { numbers(in: $0).first })
  }

  /// The cases that the sentence below the table names.
  static func agreeing() throws -> Set<Int> {
    let text = try section().filter { !$0.hasPrefix("|") }.joined(separator: " ")
    return Set(numbers(in: text))
  }

  /// What stands between the two marks.
  private static func section() throws -> [String] {
    let path =
      #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
      .joined(separator: "/") + "/README.md"
    let lines = try String(contentsOfFile: path, encoding: .utf8).split(
      separator: "\n", omittingEmptySubsequences: false
    ).map(String.init)
    guard let start = lines.firstIndex(of: "<!-- foundation cases -->"),
      let end = lines[start...].firstIndex(of: "<!-- end -->")
    else { throw Unreadable() }
    return Array(lines[(start + 1)..<end])
  }

  /// Every `C` followed by digits.
  private static func numbers(in text: String) -> [Int] {
    text.matches(of: /\bC(\d+)/).compactMap { Int($0.1) }
  }
}
