// The configuration file that the three programs share: one parser, one way to say what is wrong.

import FoundationEssentials
import Testing

@testable import OpClusterKeys

@Suite struct ConfigurationFileTests {
  private static let programs = [
    ConfigurationFile.clientKeys, ["opcoord_client", "opcoord_lost"],
    ["opworker_cpus", "opworker_name"],
  ]

  private static func parse(
    _ text: String, _ keys: [String] = ConfigurationFile.clientKeys
  ) throws(ConfigurationError) -> [String: String] {
    try ConfigurationFile.parse(text, "f.yaml", keys: keys)
  }

  private static func problem(_ text: String, _ keys: [String]) -> String {
    do throws(ConfigurationError) {
      _ = try parse(text, keys)
      return "none"
    } catch {
      return error.description
    }
  }

  @Test func linesQuotesAndComments() throws {
    let text = "# mine\r\n---\n coordinator : tcp://127.0.0.1:7420   # lab\r\n\n"
    #expect(try Self.parse(text) == ["coordinator": "tcp://127.0.0.1:7420"])
    #expect(try Self.parse("coordinator: \"ipc:///a #b\" # c")["coordinator"] == "ipc:///a #b")
    #expect(try Self.parse("coordinator: 'x'") == ["coordinator": "x"])
    #expect(try Self.parse("coordinator: a#b") == ["coordinator": "a#b"])
    #expect(try Self.parse("coordinator:") == ["coordinator": ""])
    #expect(try Self.parse("") == [:])
  }

  // Each reads its own lines of one file.
  @Test func oneFileForAll() throws {
    let text = "coordinator: a\nopcoord_client: b\nopworker_cpus: 4\n"
    let found = try Self.programs.map { try Self.parse(text, $0) }
    #expect(found == [["coordinator": "a"], ["opcoord_client": "b"], ["opworker_cpus": "4"]])
  }

  // The same words to the same mistake, whoever reads the file.
  @Test func mistakesAreToldAlike() {
    for keys in Self.programs {
      #expect(
        Self.problem("\ncordinator: x", keys)
          == "f.yaml, line 2: there is no setting 'cordinator'; did you mean 'coordinator'?")
      #expect(
        Self.problem("nonsense", keys)
          == "f.yaml, line 1: 'nonsense' is no 'key: value'; write a colon behind the key, or '#' "
          + "before what is no setting")
      let own = keys[0]
      #expect(
        Self.problem("\(own): 1\n# \n\(own): 2", keys)
          == "f.yaml, line 3: '\(own)' is said in line 1 already; keep one of them")
      #expect(
        Self.problem("\(own): 'x", keys)
          == "f.yaml, line 1: the value of '\(own)' begins with ' and does not end with it; "
          + "write ' at both ends or at none")
      #expect(Self.problem("zzzzzzzzzzzz: 1", keys).contains("known: \(keys[0]), "))
    }
    #expect(
      Self.problem("lost: 15", Self.programs[1])
        == "f.yaml, line 1: there is no setting 'lost'; did you mean 'opcoord_lost'?")
    // Whose a key is judges it: its release may know more than ours.
    #expect(Self.problem("opcoord_new: 1", Self.programs[0]) == "none")
    #expect(Self.problem("opcoord_new: 1", Self.programs[2]) == "none")
    #expect(
      Self.problem("opcoord_cliant: 1", Self.programs[1])
        == "f.yaml, line 1: there is no setting 'opcoord_cliant'; did you mean 'opcoord_client'?")
    #expect(
      Self.problem("opworker_cpu: 1", Self.programs[2])
        == "f.yaml, line 1: there is no setting 'opworker_cpu'; did you mean 'opworker_cpus'?")
  }

  @Test func absentUnreadableAndTooLong() throws {
    let path = "/tmp/opcluster-configuration-\(UInt64.random(in: 0 ... .max))"
    let keys = ConfigurationFile.clientKeys
    #expect(try ConfigurationFile.read(path, keys: keys) == nil)
    defer { try? FileManager.default.removeItem(atPath: path) }
    // A folder is there, but cannot be read.
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    let unreadable = #expect(throws: ConfigurationError.self) {
      try ConfigurationFile.read(path, keys: keys)
    }
    #expect(unreadable?.status == 78)
    #expect(unreadable?.message.hasSuffix("\(path) is not a file") == true)
    try FileManager.default.removeItem(atPath: path)
    let line = Array("coordinator: tcp://127.0.0.1:7420\n#".utf8)
    let most = line + [UInt8](repeating: 120, count: ConfigurationFile.maximumBytes - line.count)
    #expect(FileManager.default.createFile(atPath: path, contents: Data(most)))
    #expect(
      try ConfigurationFile.read(path, keys: keys) == ["coordinator": "tcp://127.0.0.1:7420"])
    #expect(FileManager.default.createFile(atPath: path, contents: Data(most + [120])))
    #expect(throws: ConfigurationError.self) { try ConfigurationFile.read(path, keys: keys) }
  }
}
