// What a worker is told by flags, environment and files, in this order.

import Glibc
import OpClusterKeys
import OpClusterServing
import Testing

@testable import OpClusterAttempts
@testable import OpClusterWorker

@Suite struct WorkerSettingsTests {
  private static func settings(
    _ texts: [String], environment: [String: String] = [:]
  ) throws -> WorkerSettings {
    let folder = try TestWorker.freshFolder()
    defer { Folders.removeTree(folder) }
    var paths: [String] = []
    for (number, text) in texts.enumerated() {
      paths.append("\(folder)/\(number).yaml")
      let file = unsafe open(paths[number], O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
      defer { close(file) }
      let bytes = Array(text.utf8)
      #expect(unsafe write(file, bytes, bytes.count) == bytes.count)
    }
    return try WorkerSettings(paths: paths + ["\(folder)/absent.yaml"]) { environment[$0] }
  }

  @Test func flagThenEnvironmentThenFiles() throws {
    let settings = try Self.settings(
      [
        """
        ---
        coordinator: tcp://127.0.0.1:1   # of clients
        opcoord_lost: 20
        opworker_cpus: 4 # four
        opworker_name: 'w 1'
        opworker_label: zone=a, disk=ssd
        opworker_log_level:
        """, "opworker_cpus: 8\nopworker_memory: \"8G\"\nopworker_log_level: debug\n",
      ], environment: ["OPWORKER_NAME": "w2", "OPWORKER_MEMORY": ""])
    #expect(settings.text(.cpus, flag: "1") == "1")
    #expect(settings.text(.cpus) == "4")
    #expect(settings.text(.name) == "w2")
    #expect(settings.text(.memory) == "8G")
    #expect(settings.text(.logLevel) == "debug")
    #expect(settings.text(.coordinator) == nil && settings.text(.scratch) == nil)
    #expect(settings.list(.label) == ["zone=a", "disk=ssd"])
    #expect(settings.list(.label, flags: ["zone=b"]) == ["zone=b"])
    #expect(settings.list(.resource) == [])
  }

  @Test func whatMeansNothingIsRefused() throws {
    for text in ["opworker_cpu: 4", "opworker_cpus 4", "opworker_: 1"] {
      let error = #expect(throws: ConfigurationError.self) {
        try Self.settings(["opcoord_any: 1\n" + text])
      }
      #expect(error?.status == 78)
      #expect(error?.description.contains("line 2") == true)
    }
  }
}
