// What the tests of the manifest share: compiling a text with files of its own, and reading the
// fixtures beside the tests.

import FoundationEssentials
import OpClusterModel
import Testing

@testable import OpClusterManifest

/// Files in memory, by absolute path.
func filesInMemory(_ files: [String: String]) -> FileAccess {
  FileAccess(
    read: { path in
      files[path].map { .success(Array($0.utf8)) }
        ?? .failure(FileAccess.Unreadable(reason: "there is no such file"))
    },
    list: { folder in
      let start = folder.hasSuffix("/") ? folder : folder + "/"
      let names = files.keys.compactMap { $0.after(start)?.split(separator: "/").first }
      return names.isEmpty ? nil : Array(Set(names.map(String.init)))
    })
}

/// A compiled manifest with the commands as they were given to the encoder.
struct Compiled {
  var result: ManifestCompiler.Compilation
  var commands: [CommandSpecification]
  /// The lists of blocks as they were given to the encoder.
  var blocks: [[OperationBlock]]
  /// The inputs with places, likewise.
  var inputs: [CallInput]

  var submission: GraphSubmission {
    get throws {
      try #require(
        result.submission, "\(result.diagnostics.map { "\($0.line): \($0.message)" })")
    }
  }
  var errors: [String] {
    result.diagnostics.filter { $0.severity == .error }.map { $0.message }
  }
  var warnings: [String] {
    result.diagnostics.filter { $0.severity == .warning }.map { $0.message }
  }
  func template(_ name: String) throws -> OperationTemplate {
    try #require(try submission.templates.first { $0.name == name })
  }
  /// The command of an operation: its payload is its number.
  func command(_ name: String) throws -> CommandSpecification {
    let payload = try template(name).payload
    return commands[Int(try #require(payload.first)) * 256 + Int(payload[1])]
  }
  /// The blocks of an operation: its payload is the number of its list.
  func blocks(_ name: String) throws -> [OperationBlock] {
    blocks[Int(try #require(try template(name).payload.first))]
  }
  func shellText(_ name: String) throws -> CommandText {
    guard case .shell(_, let text) = try command(name).form else {
      Issue.record("'\(name)' is not given to a shell")
      return CommandText("")
    }
    return text
  }
}

func compile(
  _ source: String, _ parameters: [String: String] = [:], files: [String: String] = [:],
  variables: [String: String] = [:]
) -> Compiled {
  let compiler = ManifestCompiler(
    source: source, fileName: "graph.yaml",
    surroundings: Surroundings(
      baseFolder: "/base", workingFolder: "/here", files: filesInMemory(files),
      variable: { variables[$0] }),
    parameters: parameters)
  let box = CommandBox()
  let encoders = PayloadEncoders { command in
    box.commands.append(command)
    let number = box.commands.count - 1
    return [UInt8(number / 256), UInt8(number % 256)]
  } callInput: { input in
    box.inputs.append(input)
    return [UInt8(box.inputs.count - 1)]
  } blocks: { blocks in
    box.blocks.append(blocks)
    return [UInt8(box.blocks.count - 1)]
  } blockElement: { values in
    [7] + values
  }
  let result = compiler.compile(encoders: encoders)
  return Compiled(result: result, commands: box.commands, blocks: box.blocks, inputs: box.inputs)
}

extension PayloadEncoders {
  static var empty: PayloadEncoders {
    PayloadEncoders(
      command: { _ in [] }, callInput: { _ in [] }, blocks: { _ in [] }, blockElement: { $0 })
  }
}

private final class CommandBox {
  var commands: [CommandSpecification] = []
  var inputs: [CallInput] = []
  var blocks: [[OperationBlock]] = []
}

/// A file beside the tests.
func fixture(_ name: String, file: String = #filePath) throws -> [UInt8] {
  let folder = file.split(separator: "/").dropLast().joined(separator: "/")
  let data = try #require(FileManager.default.contents(atPath: "/\(folder)/\(name)"))
  return Array(data)
}
func fixtureText(_ name: String) throws -> String {
  String(decoding: try fixture(name), as: UTF8.self)
}
