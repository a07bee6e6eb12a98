// Lint as a test: sizes, imports and words that a machine can see. The lists of
// exceptions may only shrink.

import Citations
import Testing

@Suite struct Tidy {
  private static let limits = (file: 600, function: 70, line: 100)

  /// Files that were longer when the rule was written; remove them, never add.
  private static let longFiles: Set<String> = []

  /// Renderings as they are printed, lines and all.
  private static let expectedTexts: Set<String> = [
    "Tests/OpClusterPresentationTests/Expected.swift"
  ]

  @Test func filesAreShort() throws {
    for file in try Tree.swiftFiles() where !Self.longFiles.contains(file.path) {
      #expect(file.lines.count <= Self.limits.file, "\(file.path) has \(file.lines.count) lines")
    }
  }

  @Test func linesAreShort() throws {
    for file in try Tree.swiftFiles() where !Self.expectedTexts.contains(file.path) {
      for (number, line) in file.lines.enumerated() where line.count > Self.limits.line {
        Issue.record("\(file.path):\(number + 1) has \(line.count) characters")
      }
    }
  }

  /// What a test run or a tool leaves behind does not become part of the project.
  @Test func theTopLevelIsThePlan() throws {
    let plan: Set = [
      "CHANGELOG.md", "CONTRIBUTING.md", "Package.resolved", "Package.swift", "README.md",
      "Sources", "Tests", "deploy", "proto",
    ]
    let found = try Tree.entries.filter { !$0.hasPrefix(".") }
    #expect(Set(found).subtracting(plan).isEmpty)
    #expect(found.contains("Package.swift"))
  }

  @Test func functionsAreShort() throws {
    for file in try Tree.swiftFiles() where file.isSource {
      for function in file.functions where function.length > Self.limits.function {
        Issue.record("\(file.path):\(function.line) is \(function.length) lines long")
      }
    }
  }

  @Test func everyFileSaysWhatItIs() throws {
    for file in try Tree.swiftFiles() where file.path != "Package.swift" {
      #expect(file.lines.first?.hasPrefix("//") == true, "\(file.path) does not say what it is")
    }
  }

  /// Linux, which a manifest cannot name: a platform that it names would be a promise.
  @Test func theManifestNamesNoPlatformThatDoesNotBuild() throws {
    let manifest = try Tree.lines(of: "Package.swift")
    #expect(manifest.contains { $0.contains("Package(") })
    #expect(!manifest.contains { $0.contains("platforms:") })
  }

  // Purity by module: brains and words have no clock, no chance, no tasks, no I/O.
  @Test func brainsAndWordsArePure() throws {
    let floors = [
      "OpClusterModel", "OpClusterQueries", "OpClusterScheduling", "OpClusterExecution",
    ]
    let banned = [
      "import Foundation", "import Glibc", "import Dispatch", "Date(", "ContinuousClock",
      "SystemRandomNumberGenerator", ".random(", ".shuffled(", "Task {", "await ", "actor ",
      "class ", "print(",
    ]
    for file in try Tree.swiftFiles()
    where floors.contains(where: { file.path.hasPrefix("Sources/\($0)/") }) {
      for (number, line) in file.codeLines {
        for word in banned where line.contains(word) {
          Issue.record("\(file.path):\(number) has '\(word)'")
        }
      }
    }
  }

  /// What of libzmq and of the system is never used, because it drops, cannot be used after, or
  /// crashes.
  @Test(.checks("A12", "A16", "A17", "A18")) func whatBitesIsNotUsed() throws {
    let banned = [
      "zmq_ctx_term", "zmq_ctx_destroy", "ZMQ_PUB", "ZMQ_XPUB", "ZMQ_SUB", "ZMQ_XSUB",
      "zmq_socket_monitor_pipes_stats", " fork()",
    ]
    var contexts: [String] = []
    for file in try Tree.swiftFiles() where file.isSource {
      for (number, line) in file.codeLines {
        if line.contains("zmq_ctx_new") { contexts.append("\(file.path):\(number)") }
        for word in banned where line.contains(word) {
          Issue.record("\(file.path):\(number) has '\(word)'")
        }
      }
    }
    #expect(contexts.count == 1, "one context a process: \(contexts)")
  }

  /// Foundation's own queue is measured and tried beside ours, and both are used in one file.
  private static let foundationUsers: Set<String> = [
    "Sources/opbench/FoundationQueue.swift",
    "Tests/OpClusterDocumentationTests/FoundationSamples.swift",
  ]
  private static let foundationCases = "Tests/FoundationCasesTests/"

  @Test func foundationStaysOut() throws {
    let process = "= Process" + "()"
    for file in try Tree.swiftFiles()
    where !Self.foundationUsers.contains(file.path)
      && !file.path.hasPrefix(Self.foundationCases)
    {
      for (number, line) in file.codeLines {
        if line.hasSuffix("import Foundation") {
          Issue.record("\(file.path):\(number): FoundationEssentials is enough")
        }
        if line.contains(process) { Issue.record("\(file.path):\(number) starts a Process") }
      }
    }
  }

  /// Targets that wrap C; elsewhere nothing is unsafe or unchecked.
  private static let wrappers = [
    "Sources/OpClusterSystem/", "Sources/OpClusterZeroMQ/", "Sources/OpClusterJournal/",
    "Sources/OpClusterProcesses/", "Sources/OpClusterFolders/", "Sources/OpClusterStore/",
    "Sources/OpClusterMetrics/", "Sources/OpClusterHTTP/",
  ]
  /// Files that wrap a few C calls of their target; the list may only shrink.
  private static let callers: Set<String> = [
    "Sources/ExampleMaterials/Connection.swift", "Sources/ExampleMaterials/PictureFiles.swift",
    "Sources/OpClusterAttempts/Files/Folders.swift",
    "Sources/OpClusterAttempts/Files/Scratch.swift",
    "Sources/opbatch/Follow/Terminal.swift",
    "Sources/opbatch/Shared/Descriptor.swift", "Sources/opbench/BareProcess.swift",
  ]

  @Test func unsafeStaysInTheWrappers() throws {
    for file in try Tree.swiftFiles()
    where file.isSource && !Self.wrappers.contains(where: file.path.hasPrefix)
      && !Self.callers.contains(file.path)
    {
      for (number, line) in file.codeLines {
        for word in ["@unchecked", "unsafe "] where line.contains(word) {
          Issue.record("\(file.path):\(number) has '\(word)'")
        }
      }
    }
  }

  /// What people are led to is there: files, by their names, in the pages for those who work on
  /// this.
  @Test func filesThatPagesNameAreThere() throws {
    let names = Set(
      try (Tree.files(in: "Sources") + Tree.files(in: "Tests") + ["Package.swift"]).map {
        $0.split(separator: "/").last.map { String($0) } ?? $0
      })
    for page in ["README.md", "CONTRIBUTING.md", "Sources/OpCluster/OpCluster.docc/CodeWalks.md"] {
      for line in try Tree.lines(of: page) {
        for name in line.matches(of: /`[\w\/]*?(\w+\.swift)`/) {
          #expect(names.contains("\(name.1)"), "\(page) names \(name.1)")
        }
      }
    }
  }

  @Test func nothingIsLeftForLater() throws {
    let marks = ["TO" + "DO", "FIX" + "ME", " X" + "XX"]
    for file in try Tree.swiftFiles() {
      for (number, line) in file.lines.enumerated() {
        for mark in marks where line.contains(mark) {
          Issue.record("\(file.path):\(number + 1) has \(mark)")
        }
      }
    }
  }
}
