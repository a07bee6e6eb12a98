// What may be in a client's configuration file, and what is said of what may not.

import FoundationEssentials
import Testing

@testable import OpClusterClient

@Suite struct ConfigurationFileTests {
  @Test func configurationFile() throws {
    let text = "# mine\ncoordinator: tcp://127.0.0.1:7420   # lab\n\n"
    #expect(
      try ConfigurationFile.parse(text, "f") == ["coordinator": "tcp://127.0.0.1:7420"])
    #expect(
      try ConfigurationFile.parse("coordinator: \"ipc:///a #b\"", "f")["coordinator"] != nil)
    #expect(try ConfigurationFile.parse("---\ncoordinator: 'x'", "f") == ["coordinator": "x"])
    let unknown = #expect(throws: ClientError.self) {
      try ConfigurationFile.parse("\ncordinator: x", "f")
    }
    #expect(unknown?.kind == .badConfiguration)
    #expect(unknown?.message.contains("line 2") == true)
    #expect(throws: ClientError.self) { try ConfigurationFile.parse("nonsense", "f") }
  }

  @Test func absentUnreadableAndTooLong() throws {
    let path = "/tmp/opcluster-configuration-\(UInt64.random(in: 0 ... .max))"
    #expect(try ConfigurationFile.read(path) == nil)
    defer { try? FileManager.default.removeItem(atPath: path) }
    // A folder is there, but cannot be read.
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    let unreadable = #expect(throws: ClientError.self) { try ConfigurationFile.read(path) }
    #expect(unreadable?.kind == .badConfiguration)
    try FileManager.default.removeItem(atPath: path)
    let line = Array("coordinator: tcp://127.0.0.1:7420\n#".utf8)
    let most = line + [UInt8](repeating: 120, count: ConfigurationFile.maximumBytes - line.count)
    #expect(FileManager.default.createFile(atPath: path, contents: Data(most)))
    #expect(try ConfigurationFile.read(path) == ["coordinator": "tcp://127.0.0.1:7420"])
    #expect(FileManager.default.createFile(atPath: path, contents: Data(most + [120])))
    #expect(throws: ClientError.self) { try ConfigurationFile.read(path) }
  }
}
