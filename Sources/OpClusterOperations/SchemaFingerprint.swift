// A number for the encoded shape of a type: two programs built from different sources detect a
// difference before anything fails. Any thread.

import OpClusterModel
import OpClusterWire
import Synchronization

/// The shape of codable types.
///
/// A special decoder decodes a type from nothing and records the requested keys and their types;
/// every value that it returns is zero, empty or absent. The order of keys does not matter, nor
/// does the name of a type that can be inspected. A type that cannot be decoded from nothing counts
/// by its name, for example an enumeration of texts. If that is neither `CaseIterable` nor optional
/// nor in a list, the inspection of the enclosing type ends there.
///
/// The decoding runs a type's own `init(from:)`, which must throw, not trap, at invalid values.
public enum SchemaFingerprint {
  /// The same in every process and on every machine; never 0. For a registered operation: its
  /// argument, and its output with the output's name.
  public static func of<Value>(_ type: Value.Type) -> UInt64 {
    guard let operation = type as? any RegisteredOperation.Type else {
      return number(description(of: type))
    }
    return number(description(of: type) + "->" + outputDescription(of: operation))
  }

  private static func outputDescription<Operation: RegisteredOperation>(
    of type: Operation.Type
  ) -> String {
    TypeName.of(Operation.Output.self) + " " + description(of: Operation.Output.self)
  }

  /// The text that the number is computed from: `{count:Int,name:String?,tags:[String]}`.
  static func description(of type: Any.Type) -> String {
    guard let decodable = type as? any Decodable.Type else { return TypeName.of(type) }
    let shape = SchemaShape()
    SchemaProbe(shape).tryIt(decodable)
    return shape.description
  }

  private static func number(_ text: String) -> UInt64 {
    let hash = Wire.fingerprint(Array(text.utf8))
    return hash == 0 ? 1 : hash
  }
}

/// Types whose shape is known; as many as a program has operation types.
enum KnownTypes {
  private static let types = Mutex<[ObjectIdentifier: OperationType]>([:])

  static func type<Operation: RegisteredOperation>(of operation: Operation.Type) -> OperationType {
    if let known = types.withLock({ $0[ObjectIdentifier(operation)] }) { return known }
    // Runs the type's own `init(from:)`, so not under the lock.
    let isAnyArgument = operation is any BuiltInOperation.Type
    let type = OperationType(
      name: Operation.typeName, version: Operation.version,
      fingerprint: isAnyArgument ? 0 : SchemaFingerprint.of(operation))
    types.withLock { $0[ObjectIdentifier(operation)] = type }
    return type
  }
}
