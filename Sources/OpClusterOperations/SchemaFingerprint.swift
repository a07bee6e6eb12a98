// What a type looks like when it is encoded, as a number: two programs that were built from
// different sources find out before anything fails. Any thread.

import OpClusterModel
import OpClusterWire
import Synchronization

/// The look of codable types.
///
/// A type is decoded from nothing by a decoder that writes down which keys it is asked for, and
/// of what types; every value that it gives is zero, empty or absent. The order of keys does not
/// count, and neither does the name of a type that can be looked into. What cannot be decoded from
/// nothing counts by its name: an enumeration of texts, say. If that is neither `CaseIterable` nor
/// optional nor in a list, the look into the type around it ends there.
///
/// The decoding runs `init(from:)` where a type has one of its own: it must throw, and not trap, at
/// values that it does not like.
public enum SchemaFingerprint {
  /// The same in every process and on every machine; never 0. Of a registered operation: its
  /// argument, and its output with the name by which that is known.
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

  /// What the number is made of: `{count:Int,name:String?,tags:[String]}`.
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

/// Types whose look has been found out. As many as a program has operation types.
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
