// How the daemons write moments and log lines.

import Glibc
import Logging
import OpClusterModel
import Testing

@testable import OpClusterDaemon

@Suite struct LogTests {
  @Test(
    arguments: [
      (0, "1970-01-01T00:00:00.000Z"), (951_782_399_999, "2000-02-28T23:59:59.999Z"),
      (951_782_400_123, "2000-02-29T00:00:00.123Z"), (-1, "1969-12-31T23:59:59.999Z"),
      (1_735_689_599_999, "2024-12-31T23:59:59.999Z"),
      (4_107_542_400_001, "2100-03-01T00:00:00.001Z"),
    ] as [(Int64, String)])
  func momentsAreWritten(milliseconds: Int64, text: String) {
    #expect(UTCTime(milliseconds: milliseconds).text == text)
  }

  @Test(arguments: [
    ("plain", "\"plain\""), ("\"\\", "\"\\\"\\\\\""), ("\n\u{1b}", "\"\\u000a\\u001b\""),
    ("ü", "\"ü\""),
  ])
  func textsAreQuoted(text: String, quoted: String) {
    #expect(StandardErrorLog.quote(text) == quoted)
  }

  /// A real datagram socket stands for the journal: each pair is a field of its own, and nothing of
  /// a value can become another one.
  @Test func theJournalGetsFields() throws {
    let path = "/tmp/opcluster-journal-\(getpid())"
    let journal = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
    let code = unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
        unsafe bind(journal, generic, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(code == 0)
    defer {
      close(journal)
      _ = unsafe unlink(path)
    }
    var log = try #require(JournalLog("opcoord", level: .info, socket: path))
    log.metadata = ["worker": "w1"]
    let logger = Logger(label: "x") { [log] _ in log }
    logger.warning("lost", metadata: ["graph": "12", "evil key": "a\nPRIORITY=0"])
    var buffer = [UInt8](repeating: 0, count: 4_096)
    let count = unsafe recv(journal, &buffer, buffer.count, 0)
    try #require(count > 0)
    let entry = Array(buffer.prefix(count))
    let length: [UInt8] = [12, 0, 0, 0, 0, 0, 0, 0]
    let message = "MESSAGE=lost evil key=a?PRIORITY=0 graph=12 worker=w1\n"
    #expect(
      entry == Array(message.utf8)
        + Array("PRIORITY=4\nSYSLOG_IDENTIFIER=opcoord\nOPCLUSTER_EVIL_KEY\n".utf8) + length
        + Array("a\nPRIORITY=0\nOPCLUSTER_GRAPH=12\nOPCLUSTER_WORKER=w1\n".utf8),
      "\(String(decoding: entry, as: UTF8.self))")
  }

  @Test func wordsOfSettings() throws {
    #expect(try DaemonLog.logger("x", level: "debug", format: "json").logLevel == .debug)
    #expect(throws: DaemonLog.Problem.level) {
      try DaemonLog.logger("x", level: "loud", format: "text")
    }
    #expect(throws: DaemonLog.Problem.format) {
      try DaemonLog.logger("x", level: "info", format: "xml")
    }
    #expect(JournalLog("x", level: .info, socket: "nowhere") == nil)
    #expect(JournalLog.name(of: "größe.b") == "OPCLUSTER_GR_SSE_B")
  }
}
