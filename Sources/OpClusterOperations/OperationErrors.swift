// The errors by which an operation can classify its failure, and their texts for people.

import FoundationEssentials
import OpClusterModel

/// The argument is invalid for the type: the attempt ends as `badArgument` and is never retried
/// (S129).
public struct BadArgument: Error, Hashable, Sendable, CustomStringConvertible {
  /// The problem and the correct form.
  public var description: String
  public init(_ description: String) { self.description = description }
}

/// The expected output of a dependency is missing: the attempt ends as `missingInput` (S138).
public struct MissingInput: Error, Hashable, Sendable, CustomStringConvertible {
  /// The missing output, and the existing ones.
  public var description: String
  public init(_ description: String) { self.description = description }
}

/// An output that cannot be encoded, is too large, or has another type than requested.
public struct BadOutput: Error, Hashable, Sendable, CustomStringConvertible {
  public var description: String
  public init(_ description: String) { self.description = description }
}

/// The store of the worker, or its disk, has no room for what was left.
package struct StoreIsFull: Error, CustomStringConvertible {
  package let description: String
  package init(_ description: String) { self.description = description }
}

/// Errors of coding in a readable form.
enum CodingText {
  /// `radius: expected Double, found a string`, or the error's own description.
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

  /// The text limited to this number of bytes, without a broken character.
  static func clip(_ text: String, to limit: Int = Limits.diagnosticBytes) -> String {
    guard text.utf8.count > limit else { return text }
    var end = text.utf8.index(text.startIndex, offsetBy: limit)
    while end.samePosition(in: text) == nil { end = text.utf8.index(before: end) }
    return String(text[..<end])
  }
}
