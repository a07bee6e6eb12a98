// What registered operations log is in their own logs, and the age at which logs go.

import Citations
import Glibc
import Logging
import OpClusterModel
import OpClusterOperations
import OpClusterZeroMQ
import Synchronization
import Testing

@testable import OpClusterAttempts
@testable import OpClusterWorker

/// Runs in the worker's own process.
private struct Talk: RegisteredOperation {
  static let typeName = "test.talk"

  func main(_ context: OperationContext) async throws -> NoOutput {
    context.logger.debug("too quiet")
    context.logger.notice("heard", metadata: ["colour": "red"])
    var own = context.logger
    own.logLevel = .debug
    own.debug("asked for\u{1B}[2J\nand not another line")
    return NoOutput()
  }
}

/// Keeps what a worker logs.
private final class Heard: Sendable {
  let lines = Mutex<[String]>([])

  struct Handler: LogHandler {
    let heard: Heard
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.notice

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }
    func log(event: LogEvent) {
      let all = metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }
      let text = all.reduce("\(event.message)") { "\($0) \($1.key)=\($1.value)" }
      heard.lines.withLock { $0.append(text) }
    }
  }
}

extension WorkerTests {
  // The worker's log as its settings have it; the operation's own has what it may be asked about.
  @Test func whatOperationsLogIsTheirs() throws {
    let coordinator = try FakeCoordinator()
    let heard = Heard()
    var types = OperationRegistry()
    types.add(Talk.self)
    let worker = try TestWorker(coordinator.endpoint, types: types) {
      $0.logger = Logger(label: "test") { _ in Heard.Handler(heard: heard) }
    }
    let result = try coordinator.run(
      FakeCoordinator.template(
        work: .call(OperationType(name: "test.talk")), payload: Array("{}".utf8)))
    #expect(result.isSuccess, "\(result)")
    let chunk = try coordinator.log(FakeCoordinator.attempt(0), .standardError)
    let lines = String(decoding: chunk.bytes, as: UTF8.self).split(separator: "\n")
    let texts = lines.map { $0.split(separator: " ", maxSplits: 1).last ?? "" }
    #expect(texts == ["notice heard colour=red", "debug asked for?[2J?and not another line"])
    #expect(chunk.isComplete && chunk.problem == "")
    let told = heard.lines.withLock { $0 }.filter { $0.contains("operation=op") }
    #expect(told == ["heard colour=red graph=12 operation=op run=1"])
    #expect(try worker.end(coordinator) == .stopped)
  }

  // No more than a command may write; a mark says so, once.
  @Test(.checks("G26")) func anOperationsLogHasAnEnd() throws {
    let folder = try TestWorker.freshFolder()
    defer { Folders.removeTree(folder) }
    let path = "\(folder)/1/2.1.err"
    let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let logger = Logger(label: "own") { _ in OperationLog(quiet, path: path) }
    logger.info("first")
    let first = try #require(Folders.size(of: path))
    #expect(first > 10)
    _ = unsafe truncate(path, Int(OperationLog.most - first))
    logger.info("first")
    #expect(Folders.size(of: path) == OperationLog.most)
    logger.info("more")
    #expect(Folders.size(of: path) == OperationLog.most)
    _ = unsafe truncate(path, Int(OperationLog.most - 1))
    logger.info("more")
    let marked = try #require(Folders.size(of: path))
    #expect(marked > OperationLog.most && marked < OperationLog.most + 100)
    logger.info("more")
    #expect(Folders.size(of: path) == marked)
  }

  // How long logs are kept is the worker's setting.
  @Test func logsGoAtTheAgeThatIsSet() throws {
    let coordinator = try FakeCoordinator()
    let folder = try TestWorker.freshFolder()
    defer { Folders.removeTree(folder) }
    let now = Int(Folders.secondsSince1970())
    for (graph, hours) in [("3", 5), ("4", 3), ("5", 0)] {
      try Folders.make("\(folder)/\(graph)")
      touch("\(folder)/\(graph)/1.1.out")
      let time = timespec(tv_sec: now - hours * 3_600, tv_nsec: 0)
      _ = unsafe utimensat(AT_FDCWD, "\(folder)/\(graph)", [time, time], 0)
    }
    let command = try OpworkerProcess([
      "serve", "--allow-root", "--coordinator", coordinator.endpoint.address, "--name", "w1",
      "--scratch", folder, "--log-age", "4h",
    ])
    try coordinator.until("a welcome") { coordinator.conversation != nil }
    try coordinator.until("the oldest to go") { Folders.size(of: "\(folder)/3") == nil }
    kill(command.process, SIGTERM)
    #expect(try command.wait() == 0)
    #expect(Folders.size(of: "\(folder)/4/1.1.out") != nil)
    #expect(Folders.size(of: "\(folder)/5/1.1.out") != nil)
    for wrong in ["4", "59s", "3651d", "4w", "-1h", "9223372036854775807d", "h"] {
      let refused = try OpworkerProcess([
        "serve", "--allow-root", "--coordinator", "ipc://\(folder)/x", "--log-age=\(wrong)",
      ])
      #expect(try refused.wait() == 64, "\(wrong)")
      #expect(refused.error.contains("is not a time from 1m to 3650d"), "\(refused.error)")
    }
  }
}
