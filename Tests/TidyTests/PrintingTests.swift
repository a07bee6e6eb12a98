// Everything that is printed goes through a door that neutralises what others wrote (G38): the
// console of opbatch, `StandardStream` of the daemons. What goes past it is listed here.

import Testing

@Suite struct Printing {
  /// Ways to a stream that ask nobody.
  private static let bypasses = [
    "print(", "debugPrint(", "dump(", "putchar(", "puts(", "fputs(", "fwrite(", "printf(",
    "FileHandle", "Glibc.write(", " write(1", " write(2", "STDOUT_FILENO", "STDERR_FILENO",
    "Descriptor.output.write(", "Descriptor.error.write(", ".writeOnce(", "FileDescriptor(1",
    "FileDescriptor(2",
  ]
  /// The doors themselves, and the help pages of opbatch, which nobody else writes.
  private static let doors: Set<String> = [
    "Sources/opbatch/Shared/Console.swift", "Sources/opbatch/Shared/Descriptor.swift",
    "Sources/opbatch/Opbatch.swift",
    "Sources/OpClusterDaemon/StandardStream.swift",
  ]
  private static let folders = [
    "opbatch", "opcoord", "opworker", "OpClusterClient", "OpClusterCoordinator", "OpClusterDaemon",
    "OpClusterJournal", "OpClusterManifest", "OpClusterPresentation", "OpClusterServing",
    "OpClusterWire", "OpClusterWorker", "OpClusterZeroMQ", "OpCluster", "OpClusterLocal",
    "OpClusterAttempts", "OpClusterOperations", "OpClusterSystem",
  ]

  @Test func nothingPrintsPastTheDoors() throws {
    for file in try Tree.swiftFiles()
    where Self.folders.contains(where: { file.path.hasPrefix("Sources/\($0)/") })
      && !Self.doors.contains(file.path)
    {
      for (number, line) in file.codeLines {
        for bypass in Self.bypasses where Self.uses(bypass, in: line) {
          Issue.record("\(file.path):\(number) prints by '\(bypass)', past the console")
        }
      }
    }
  }

  /// A line of a help page that ends in the middle of a sentence goes on by a backslash: a terminal
  /// breaks lines where it must, and one that ends before leaves a word alone on the next.
  @Test func sentencesOfHelpPagesAreOneLine() throws {
    for file in try Tree.swiftFiles() where file.path.hasPrefix("Sources/") {
      // The margin of the help page that is being read; nil: none is.
      var margin: Int?
      var before = ""
      for (number, line) in file.lines.enumerated() {
        let text = line.drop { $0 == " " }
        if text.hasPrefix("\"\"\"") { margin = nil }
        if let margin, indent(line) == margin, indent(before) == margin, goesOn(text, before) {
          Issue.record("\(file.path):\(number) ends before its sentence: '\(before)'")
        }
        before = String(line)
        if line.hasSuffix("discussion: \"\"\"") { margin = indent(line) + 2 }
      }
    }
  }

  /// A word and a colon begin something else.
  private func goesOn(_ text: some StringProtocol, _ before: String) -> Bool {
    guard let last = before.last, !".:;\\".contains(last), text.first?.isLowercase == true else {
      return false
    }
    return text.prefix { $0 != " " }.last != ":"
  }

  private func indent(_ line: some StringProtocol) -> Int { line.prefix { $0 == " " }.count }

  /// Not as the end of another word, such as `blueprint(`.
  private static func uses(_ word: String, in line: String) -> Bool {
    line.ranges(of: word).contains { range in
      guard range.lowerBound > line.startIndex, word.first?.isLetter == true else { return true }
      let before = line[line.index(before: range.lowerBound)]
      return !before.isLetter && !before.isNumber && before != "_"
    }
  }

  /// Bytes as they are: JSON, which escapes by itself (`listing.take()`, `json.bytes`), and these.
  private static let rawBytes: [String: String] = [
    "Sources/opbatch/Follow/LogPrinter.swift": "into a pipe as they are, safe on a terminal",
    "Sources/opbatch/Follow/Fetch.swift": "a file into a pipe as it is, safe on a terminal",
    "Sources/opbatch/Start/CallRun.swift": "an output into a pipe as it is, safe on a terminal",
    "Sources/opbatch/Start/CommandRun.swift": "what one's own command says, as if run by hand",
    "Sources/opbatch/Start/MapOutput.swift": "what one's own jobs say; a bar of numbers",
    "Sources/opbatch/Start/Map.swift": "commands into a pipe, for a shell; safe on a terminal",
    "Sources/opbatch/Follow/List.swift": "JSON", "Sources/opbatch/Follow/Files.swift": "JSON",
    "Sources/opbatch/Follow/Trace.swift": "JSON",
    "Sources/opbatch/Notify/FollowedNotifications.swift": "a sequence whose text was made safe",
    "Sources/opbatch/Shared/OutputFile.swift": "documents, in which text was made safe",
    "Sources/opbatch/Shared/Console.swift": "itself",
  ]

  @Test func rawBytesAreJSONOrLogs() throws {
    for file in try Tree.swiftFiles()
    where file.path.hasPrefix("Sources/opbatch/") && Self.rawBytes[file.path] == nil {
      for (number, line) in file.codeLines
      where line.contains("write(bytes:") || line.contains("say(bytes:") {
        let isJSON = line.contains("listing.take()") || line.contains("json.bytes")
        #expect(isJSON, "\(file.path):\(number) writes bytes that nobody has looked at")
      }
    }
  }

  /// Frames for a terminal are made of lines that renderers made safe.
  @Test func onlyThePainterRepaints() throws {
    for file in try Tree.swiftFiles()
    where file.path.hasPrefix("Sources/opbatch/")
      && ![
        "Follow/ProgressPainter.swift", "Follow/Top.swift", "Start/UploadPainter.swift",
        "Shared/Console.swift",
      ].contains(
        String(file.path.dropFirst("Sources/opbatch/".count)))
    {
      for (number, line) in file.codeLines where line.contains(".repaint(") {
        Issue.record("\(file.path):\(number) repaints")
      }
    }
  }
}
