// Typed outputs: a value and its type's name in the same message as the `key=value` outputs of
// commands, so that both kinds of operations can read each other's outputs. Any thread.

import FoundationEssentials
import OpClusterModel
import OpClusterWire

/// Encodes and decodes the outputs of operations.
///
/// A value is identified by the unqualified name of its type: submitting and running programs share
/// a module with the type, or each have their own. The scalar fields of an object are also
/// `key=value` pairs, for commands (`${{ needs.OPERATION.outputs.KEY }}`); the pairs of a command
/// are read as `[String: String]`.
public enum OutputValue {
  /// Encodes a value as a message. One of more than `Limits.outputBytes` is for a store; who has
  /// none refuses it.
  /// - Throws: ``BadOutput`` if it cannot be encoded, or has files: an operation alone leaves them.
  public static func encode<Value: Encodable>(_ value: Value) throws(BadOutput) -> [UInt8] {
    try finished(opened(value, files: nil))
  }

  /// Encodes what an operation leaves, and keeps its files: once for each attempt.
  /// - Throws: ``BadOutput`` if it cannot be encoded or a file is not kept, or `StoreIsFull`.
  package static func encode<Value: Encodable>(
    _ value: Value, leftBy context: OperationContext
  ) async throws -> [UInt8] {
    let files = OutputFiles()
    var output = try opened(value, files: files)
    for (name, file) in files.left {
      do {
        let kept = try await context.keepFile(try await file.path())
        output.files.append(
          StoredFile(
            name: name, path: "", isExecutable: kept.isExecutable, content: kept.content))
      } catch let error as StoreIsFull {
        throw error
      } catch {
        throw BadOutput("the file '\(name)' was not kept: \(error)")
      }
    }
    return try finished(output)
  }

  /// The value and the name of its type.
  private static func opened<Value: Encodable>(
    _ value: Value, files: OutputFiles?
  ) throws(BadOutput) -> OperationOutput {
    var output = OperationOutput()
    if value is NoOutput { return output }
    output.typeName = typeName(of: Value.self)
    let encoder = JSON.encoder()
    if let files, let key = OutputFiles.key { encoder.userInfo[key] = files }
    do {
      output.value = Array(try encoder.encode(value))
    } catch let error as BadOutput {
      throw error
    } catch {
      throw BadOutput("the output cannot be encoded: \(CodingText.describe(error))")
    }
    return output
  }

  /// With those of its fields that commands may read, as far as there is room.
  private static func finished(_ opened: OperationOutput) throws(BadOutput) -> [UInt8] {
    if opened.typeName.isEmpty { return [] }
    var output = opened
    let around = Wire.encode(output: output.withoutValue).count
    guard output.files.isEmpty || around <= filesBytes else {
      throw BadOutput(
        "the names and digests of its \(output.files.count) files are more than "
          + "\(filesBytes) bytes; put them into an archive")
    }
    // Twelve bytes exceed the overhead of a pair. Beside a value that goes to a store there is room
    // for the pairs, and for what says where the value is.
    let isLarge = output.value.count + around + 32 > Limits.outputBytes
    var room = Limits.outputBytes - around - (isLarge ? 128 : output.value.count + 8)
    for pair in ScalarFields.pairs(in: output.value) {
      room -= pair.key.utf8.count + pair.value.utf8.count + 12
      if room < 0 { break }
      output.pairs.append(pair)
    }
    return Wire.encode(output: output)
  }

  /// What the files of an output may take of its message: the value may have to be named as well.
  private static let filesBytes = Limits.outputBytes - 256

  /// Decodes the value of a message.
  /// - Parameter contents: Reads a value that lies in a store.
  /// - Throws: ``BadOutput`` if it contains a value of another type, or none, or one that cannot be
  ///   read.
  public static func decode<Value: Decodable>(
    _ type: Value.Type, from bytes: [UInt8], contents: OperationContents = .none
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
      return try value(type, in: output, contents)
    } catch let error as BadOutput {
      throw error
    } catch {
      throw BadOutput(
        "the \(output.typeName) that was left does not fit the type here: "
          + CodingText.describe(error))
    }
  }

  /// The name that identifies values of a type.
  public static func typeName<Value>(of type: Value.Type) -> String { TypeName.of(type) }

  /// The value, if it is of this type.
  static func value<Value: Decodable>(
    _ type: Value.Type, of output: OperationOutput, contents: OperationContents
  ) -> Value? {
    if let pairs = output.pairs(as: type) { return pairs }
    guard output.typeName == typeName(of: type) else { return nil }
    return try? value(type, in: output, contents)
  }

  private static func value<Value: Decodable>(
    _ type: Value.Type, in output: OperationOutput, _ contents: OperationContents
  ) throws -> Value {
    let decoder = JSONDecoder()
    if let key = ReadFiles.key { decoder.userInfo[key] = ReadFiles(output, contents) }
    return try decoder.decode(type, from: contents.valueData(of: output))
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
  fileprivate var withoutValue: OperationOutput {
    var output = self
    output.value = []
    return output
  }

  /// The pairs of a command, if `[String: String]` is requested; nil for a typed value.
  fileprivate func pairs<Value>(as type: Value.Type) -> Value? {
    guard typeName.isEmpty, type == [String: String].self else { return nil }
    return Dictionary(pairs.map { ($0.key, $0.value) }, uniquingKeysWith: { $1 }) as? Value
  }
}

/// Names of types.
enum TypeName {
  /// Without module and enclosing types, the same in every process: `Image`, `Array<Image>`.
  static func of(_ type: Any.Type) -> String { String(describing: type) }
}
