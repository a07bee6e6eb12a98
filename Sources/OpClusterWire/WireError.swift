// The one error of this module: names the field that could not be decoded. Only decoders of this
// module throw it; the owner of the socket counts it and answers.
// Texts of the error name fields as `proto/` does: whoever writes a client in another language
// looks there.

/// A decoder refused bytes (G33). Nothing of the message took effect. The receiver counts the error
/// and drops the conversation with the sender.
public struct WireError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The field or column, by its name in `proto/`.
  public var field: String
  /// Receivers treat all problems alike: the difference is for people and for tests.
  public var problem: Problem

  public enum Problem: Hashable, Sendable {
    /// Not a protobuf message of this kind: truncated, invalid UTF-8, or nested too deeply.
    case malformed
    /// A required part is missing.
    case missing
    /// A reply for clients on a worker's conversation: the worker connected to the address for
    /// clients.
    case meantForClients
    /// A number that has no enum value in this version (G32).
    case unknownValue(Int)
    /// More entries or bytes than `limit`.
    case beyond(limit: Int)
    /// Columns that belong together differ in length, or positions do not ascend.
    case unequalColumns
    /// The value is NaN, negative, too large, or not in the documented form.
    case outOfRange
  }

  /// The field comes first at every call, so that throwing lines read alike.
  public init(_ field: String, _ problem: Problem) {
    self.field = field
    self.problem = problem
  }

  /// The text goes into logs and into the answer to a client that could not be understood, so it
  /// holds no bytes of the sender but numbers.
  public var description: String {
    switch problem {
    case .malformed: "malformed \(field)"
    case .missing: "\(field) is missing"
    case .meantForClients:
      "this is what a coordinator says to clients; workers connect to its address for workers, "
        + "which has another port (7421 where nothing else was chosen)"
    case .unknownValue(let number): "\(field): unknown value \(number)"
    case .beyond(let limit): "\(field): more than \(limit)"
    case .unequalColumns: "\(field): columns do not fit each other"
    case .outOfRange: "\(field): out of range"
    }
  }
}
