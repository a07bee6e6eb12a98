// Which rules a test checks, said where a machine can read it: on the test itself.

public import Testing

/// The rules that a test, or each test of a suite, checks: `.checks("S47", "G10")`. They stand in
/// the documentation catalogue under these numbers, and are told when the test fails.
public struct CheckedRules: TestTrait, SuiteTrait {
  public let numbers: [String]

  public var comments: [Comment] {
    [Comment(rawValue: "checks " + numbers.joined(separator: ", "))]
  }
}

extension Trait where Self == CheckedRules {
  public static func checks(_ numbers: String...) -> Self { CheckedRules(numbers: numbers) }
}
