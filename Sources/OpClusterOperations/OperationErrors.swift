// What an operation can throw to say more than that it failed, and what is said to people about it.

import FoundationEssentials
import OpClusterModel

/// The argument is not what the type expects: the attempt ends as `badArgument` and is never
/// retried (S129).
public struct BadArgument: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong and what would be right.
  public var description: String
  public init(_ description: String) { self.description = description }
}

/// Something that a dependency should have left is not there: the attempt ends as `missingInput`
/// (S138).
public struct MissingInput: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is missing, and what the dependencies did leave.
  public var description: String
  public init(_ description: String) { self.description = description }
}

/// An output that cannot be encoded, is too large, or is not of the type that was asked for.
public struct BadOutput: Error, Hashable, Sendable, CustomStringConvertible {
  public var description: String
  public init(_ description: String) { self.description = description }
}

/// Errors of coding as people read them.
enum CodingText {
  /// `radius: expected Double, found a string`, or whatever the error says of itself.
  static func describe(_ error: any Error) -> String {
    switch error {
    case DecodingError.keyNotFound(let key, let context):
      "\(path(context.codingPath))'\(key.stringValue)' is missing"
    case DecodingError.typeMismatch(_, let context), DecodingError.dataCorrupted(let context),
      DecodingError.valueNotFound(_, let context):
      "\(path(context.codingPath))\(context.debugDescription)"
    case EncodingError.invalidValue(_, let context):
      "\(path(context.codingPath))\(context.debugDescription)"
    default: "\(error)"
    }
  }

  private static func path(_ keys: [any CodingKey]) -> String {
    if keys.isEmpty { return "" }
    return keys.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".") + ": "
  }

  /// At most so many bytes of whole characters.
  static func clip(_ text: String, to limit: Int = Limits.diagnosticBytes) -> String {
    guard text.utf8.count > limit else { return text }
    var end = text.utf8.index(text.startIndex, offsetBy: limit)
    while end.samePosition(in: text) == nil { end = text.utf8.index(before: end) }
    return String(text[..<end])
  }
}
