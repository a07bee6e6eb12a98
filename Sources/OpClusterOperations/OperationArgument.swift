// Converts an operation's properties to its argument and back; the argument is JSON, so that people
// and manifests can write it as well. Any thread.

import FoundationEssentials
import OpClusterModel

/// Arguments of registered operations.
public enum OperationArgument {
  /// The argument that creates an equal operation elsewhere.
  /// - Throws: ``BadArgument`` if it cannot be encoded or exceeds `Limits.payloadBytes`.
  public static func encode(_ operation: some Encodable) throws(BadArgument) -> [UInt8] {
    let bytes: [UInt8]
    do {
      bytes = Array(try JSON.encoder().encode(operation))
    } catch {
      throw BadArgument(
        "\(TypeName.of(type(of: operation))) cannot be encoded: \(CodingText.describe(error))")
    }
    guard bytes.count <= Limits.payloadBytes else {
      throw BadArgument(
        "\(TypeName.of(type(of: operation))) has \(bytes.count) bytes, more than "
          + "\(Limits.payloadBytes); pass a reference to larger data")
    }
    return bytes
  }

  /// Decodes the operation for an attempt: properties from the argument, unset inputs from the
  /// context's dependencies (S136). An empty argument stands for an object without keys.
  /// - Parameter context: nil leaves inputs unset, for callers that only inspect an argument.
  /// - Throws: ``BadArgument`` (S129), ``MissingInput`` (S138).
  public static func decode<Operation: Decodable>(
    _ type: Operation.Type, from argument: [UInt8], for context: OperationContext?
  ) throws -> Operation {
    let decoder = JSONDecoder()
    if let context, let key = InputBinding.key { decoder.userInfo[key] = context }
    do {
      return try decoder.decode(
        type, from: argument.isEmpty ? Data("{}".utf8) : Data(argument))
    } catch let error as BadArgument {
      throw error
    } catch let error as MissingInput {
      throw error
    } catch {
      throw BadArgument(
        "the argument is not that of \(TypeName.of(type)): \(CodingText.describe(error))")
    }
  }
}

/// The encoding of values: equal values give equal bytes.
enum JSON {
  static func encoder() -> JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return encoder
  }
}
