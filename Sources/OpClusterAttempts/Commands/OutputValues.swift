// Reads the `OP_OUTPUT` file of a command. Called on the loop thread after a success.

import Glibc
import OpClusterModel
import OpClusterWire

enum OutputValues {
  /// Returns the values of the file, encoded for the dependents; empty if there are none. Removes
  /// the file. Reads one byte more than is allowed, so that a larger file is noticed without being
  /// read.
  static func read(
    _ path: String, declared: [String]
  ) throws(AttemptProblem) -> [UInt8] {
    let found = Folders.bytes(of: path, atMost: Limits.outputBytes + 1)
    let error = errno
    guard found != nil || error == ENOENT else {
      errno = error
      throw bad(Folders.problem("the file that OP_OUTPUT names cannot be read").description)
    }
    if found != nil, !Folders.removeTree(path) {
      throw bad(Folders.problem("the file that OP_OUTPUT names cannot be removed").description)
    }
    let bytes = found ?? []
    if bytes.isEmpty, declared.isEmpty { return [] }
    let pairs = try parse(bytes)
    for key in declared where !pairs.contains(where: { $0.key == key }) {
      throw bad(
        "the output '\(key)' was promised and not written; write \(key)=VALUE to $OP_OUTPUT")
    }
    let encoded = Wire.encode(outputs: pairs)
    guard encoded.count <= Limits.outputBytes else { throw tooLong }
    return encoded
  }

  /// An encoded output with files besides its values.
  static func adding(
    _ files: [StoredFile], to encoded: [UInt8]
  ) throws(AttemptProblem) -> [UInt8] {
    var output = OperationOutput()
    do throws(WireError) {
      if !encoded.isEmpty { output = try Wire.decodeOutput(encoded) }
    } catch {
      throw .unreadable("output", error)
    }
    output.files = files
    let bytes = Wire.encode(output: output)
    guard bytes.count <= Limits.outputBytes else {
      throw bad(
        "the names and digests of its \(files.count) output files are more than "
          + "\(Limits.outputBytes) bytes; put them into an archive")
    }
    return bytes
  }

  /// Parses lines of `key=value`. Skips empty lines; the last value of a key wins. The order is
  /// that of the first line of each key. A value may have further `=`, and may be empty.
  static func parse(_ bytes: [UInt8]) throws(AttemptProblem) -> [(key: String, value: String)] {
    guard bytes.count <= Limits.outputBytes else { throw tooLong }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw bad("the outputs are not UTF-8; write them as text")
    }
    var pairs: [(key: String, value: String)] = []
    var places: [String: Int] = [:]
    var number = 0
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      number += 1
      if line.isEmpty || line == "\r" { continue }
      guard let equals = line.firstIndex(of: "="), equals != line.startIndex else {
        throw bad("line \(number) of the outputs is not KEY=VALUE")
      }
      let (key, value) = (String(line[..<equals]), String(line[line.index(after: equals)...]))
      if let at = places[key] {
        pairs[at].value = value
      } else {
        places[key] = pairs.count
        pairs.append((key, value))
      }
    }
    return pairs
  }

  /// The bound is also one of the coordinator, which keeps no larger one (S140).
  private static var tooLong: AttemptProblem {
    bad(
      "the outputs are more than \(Limits.outputBytes) bytes; write large data to a file of "
        + "your own and its path as an output")
  }

  private static func bad(_ message: String) -> AttemptProblem { .badOutput(message) }
}

extension AttemptProblem {
  static func badOutput(_ message: String) -> AttemptProblem {
    AttemptProblem(cause: .badOutput, message: message)
  }
}
