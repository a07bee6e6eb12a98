// Typed outputs: a value and its type's name in the same message that holds the `key=value` outputs
// of commands, so that either kind of operation can read what the other left. Any thread.

import FoundationEssentials
import OpClusterModel
import OpClusterWire

/// Encodes what an operation returns and decodes what one left.
///
/// A value is known by the unqualified name of its type: the type lives in a module that those who
/// submit and those who run share, or in two programs that each have their own. The scalar fields
/// of a value that is an object are also `key=value` pairs, for commands
/// (`${{ needs.OPERATION.outputs.KEY }}`); the pairs that a command left are read as
/// `[String: String]`.
public enum OutputValue {
  /// A value of the message.
  /// - Throws: ``BadOutput`` when it cannot be encoded or is more than `Limits.outputBytes`.
  public static func encode<Value: Encodable>(_ value: Value) throws(BadOutput) -> [UInt8] {
    if value is NoOutput { return [] }
    var output = OperationOutput()
    output.typeName = typeName(of: Value.self)
    do {
      output.value = Array(try JSON.encoder().encode(value))
    } catch {
      throw BadOutput("the output cannot be encoded: \(CodingText.describe(error))")
    }
    // Twelve bytes are more than a pair needs around its texts.
    var room = Limits.outputBytes - (try checked(Wire.encode(output: output)).count)
    for pair in ScalarFields.pairs(in: output.value) {
      room -= pair.key.utf8.count + pair.value.utf8.count + 12
      if room < 0 { break }
      output.pairs.append(pair)
    }
    return Wire.encode(output: output)
  }

  /// The bytes, if there are not too many.
  static func checked(_ output: [UInt8]) throws(BadOutput) -> [UInt8] {
    guard output.count <= Limits.outputBytes else {
      throw BadOutput(
        "its output has \(output.count) bytes, more than \(Limits.outputBytes); leave a reference "
          + "to larger data")
    }
    return output
  }

  /// The value of a message.
  /// - Throws: ``BadOutput`` when it holds a value of another type, or none.
  public static func decode<Value: Decodable>(
    _ type: Value.Type, from bytes: [UInt8]
  ) throws(BadOutput) -> Value {
    if bytes.isEmpty {
      if let nothing = NoOutput() as? Value { return nothing }
      throw BadOutput("there is no output, where a \(typeName(of: type)) was expected")
    }
    let output: OperationOutput
    do throws(WireError) {
      output = try Wire.decodeOutput(bytes)
    } catch {
      throw BadOutput("the output cannot be read: \(error)")
    }
    if let pairs = output.pairs(as: type) { return pairs }
    guard output.typeName == typeName(of: type) else {
      throw BadOutput("it left \(describe(output)), not a \(typeName(of: type))")
    }
    do {
      return try JSONDecoder().decode(type, from: Data(output.value))
    } catch {
      throw BadOutput(
        "the \(output.typeName) that was left does not fit the type here: "
          + CodingText.describe(error))
    }
  }

  /// The name by which values of a type are known.
  public static func typeName<Value>(of type: Value.Type) -> String { TypeName.of(type) }

  /// The value, if it is one of this type.
  static func value<Value: Decodable>(
    _ type: Value.Type, of output: OperationOutput
  ) -> Value? {
    if let pairs = output.pairs(as: type) { return pairs }
    guard output.typeName == typeName(of: type) else { return nil }
    return try? JSONDecoder().decode(type, from: Data(output.value))
  }

  /// `a value of type Image`, for people.
  static func describe(_ bytes: [UInt8]) -> String {
    guard let output = try? Wire.decodeOutput(bytes) else { return "something unreadable" }
    return describe(output)
  }

  private static func describe(_ output: OperationOutput) -> String {
    if !output.typeName.isEmpty { return "a value of type \(output.typeName)" }
    let keys = output.pairs.prefix(20).map(\.key).joined(separator: ", ")
    return "the texts \(keys) of a command"
  }
}

extension OperationOutput {
  /// What a command left, for those who ask for `[String: String]`; nil for a typed value.
  fileprivate func pairs<Value>(as type: Value.Type) -> Value? {
    guard typeName.isEmpty, type == [String: String].self else { return nil }
    return Dictionary(pairs.map { ($0.key, $0.value) }, uniquingKeysWith: { $1 }) as? Value
  }
}

/// Types as they are called here.
enum TypeName {
  /// Without module and enclosing types, the same in every process: `Image`, `Array<Image>`.
  static func of(_ type: Any.Type) -> String { String(describing: type) }
}
