// What comes of bytes that are not understood: one value that names the field. Thrown by every
// decoder of this module and by nothing else; whoever holds the socket counts it and answers.

/// Bytes were refused at the door (G33). Nothing of the message has taken effect; the next step
/// is to count it and to drop the conversation with the sender.
public struct WireError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The field or column, as it is called in `proto/`.
  public var field: String
  public var problem: Problem

  public enum Problem: Hashable, Sendable {
    /// Not protobuf of this kind: truncated, invalid UTF-8, nested too deeply.
    case malformed
    /// A part without which the message means nothing.
    case missing
    /// An answer as the coordinator gives it to clients: it came from the address for those.
    case meantForClients
    /// A number that no enum value of this version has (G32).
    case unknownValue(Int)
    /// More entries or bytes than `Limits` allows.
    case beyond(limit: Int)
    /// Columns that belong together differ in length, or positions do not ascend.
    case unequalColumns
    /// Not a number, negative, too large, or not in the documented form.
    case outOfRange
  }

  public init(_ field: String, _ problem: Problem) {
    self.field = field
    self.problem = problem
  }

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
