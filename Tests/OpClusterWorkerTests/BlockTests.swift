// Block operations from end to end: several commands and calls, one operation, one slot.

import Citations
import Glibc
import OpClusterModel
import OpClusterWire
import OpClusterZeroMQ
import Testing

@testable import OpClusterAttempts
@testable import OpClusterWorker

extension FakeCoordinator {
  static func blocks(
    at position: UInt32 = 0, firstIndex: UInt32 = 0, cpus: Int64 = 2, _ blocks: [OperationBlock]
  ) -> TemplateAnnouncement {
    template(
      at: position, firstIndex: firstIndex, name: "blocks",
      work: .blocks([OperationType(name: "noop"), OperationType(name: "sleep")]),
      payload: Wire.encode(blocks: blocks), cpus: cpus)
  }
}

extension WorkerTests {
  // Commands and calls mixed, further ones with the dispatch, results by
  // position, all output in the attempt's own files.
  @Test(.checks("S118", "S119", "S120", "S123")) func blocksEndToEnd() throws {
    let coordinator = try FakeCoordinator()
    let worker = try TestWorker(coordinator.endpoint)
    let template = FakeCoordinator.blocks([
      .command(FakeCoordinator.shell("echo one; echo word=1 > $OP_OUTPUT")),
      .call(OperationType(name: "noop"), argument: []),
      .command(FakeCoordinator.shell("echo two; echo oops >&2; test $OP_CPUS = 2")),
    ])
    let further = Wire.encode(blocks: [
      .command(FakeCoordinator.shell("echo three; pwd > $OP_OUTPUT.x; test \"$PWD\" = $OP_SCRATCH"))
    ])
    let result = try coordinator.run(template, argument: further)
    #expect(result.isSuccess, "\(result)")
    let results = try Wire.decodeBlockResults(result.output)
    guard results.count == 4, case .succeeded(let values) = results[0] else {
      Issue.record("\(results)")
      return
    }
    #expect(try Wire.decodeOutputs(values).map(\.value) == ["1"])
    #expect(results[1...] == [.succeeded([]), .succeeded([]), .succeeded([])])
    let attempt = FakeCoordinator.attempt(0)
    let output = try coordinator.log(attempt, .standardOutput)
    let lines = String(decoding: output.bytes, as: UTF8.self).split(separator: "\n")
    #expect(lines.sorted() == ["one", "three", "two"])
    let error = try coordinator.log(attempt, .standardError)
    #expect(String(decoding: error.bytes, as: UTF8.self) == "oops\n")
    withExtendedLifetime(worker) {}
  }

  // What an array's element gives to the commands of its blocks, and further blocks behind it.
  @Test func blocksOfAnArrayEndToEnd() throws {
    let coordinator = try FakeCoordinator()
    let worker = try TestWorker(coordinator.endpoint)
    func command(_ text: CommandText) -> OperationBlock {
      var command = CommandSpecification(
        form: .shell(interpreter: ["/bin/sh", "-c"], text: text))
      command.elementKeys = ["x", "y"]
      return .command(command)
    }
    let template = FakeCoordinator.blocks([
      command(
        CommandText(segments: [.literal("echo "), .value(.element(1), quoting: .shell)])),
      command(CommandText("echo $OP_MATRIX_X")),
      .command(FakeCoordinator.shell("echo plain$OP_MATRIX_X")),
    ])
    let argument =
      Wire.encode(blockElement: ElementValues.encode(["1", "p  q"]))
      + Wire.encode(blocks: [.command(FakeCoordinator.shell("echo further"))])
    let result = try coordinator.run(template, argument: argument)
    #expect(result.isSuccess, "\(result)")
    let output = try coordinator.log(FakeCoordinator.attempt(0), .standardOutput)
    let lines = String(decoding: output.bytes, as: UTF8.self).split(separator: "\n")
    #expect(lines.sorted() == ["1", "further", "p  q", "plain"])
    withExtendedLifetime(worker) {}
  }

  // At most `width` at once, the processors asked for; and really that many.
  @Test(.checks("S119")) func blocksSideBySide() throws {
    let coordinator = try FakeCoordinator()
    let worker = try TestWorker(coordinator.endpoint)
    // Each waits until another is there, and says how many it saw.
    let meet = FakeCoordinator.shell(
      """
      cd "\(worker.folder)"; touch in.$$
      while [ "$(ls in.* | wc -l)" -lt 2 ] && [ ! -e met ]; do sleep 0.01; done
      touch met; ls in.* | wc -l; sleep 0.05; rm in.$$
      """)
    let result = try coordinator.run(
      FakeCoordinator.blocks(Array(repeating: .command(meet), count: 6)))
    #expect(result.isSuccess)
    let output = try coordinator.log(FakeCoordinator.attempt(0), .standardOutput)
    let counts = String(decoding: output.bytes, as: UTF8.self).split(separator: "\n").compactMap {
      Int($0)
    }
    #expect(counts.count == 6 && counts.contains(2) && counts.allSatisfy { $0 <= 2 })
    #expect(BlockRun.width(ResourceAmount(tenThousandths: 15_000)) == 2)
    #expect(BlockRun.width(.zero) == 1)
  }

  // A failed block fails the operation after all have returned; each one's end is told.
  @Test(.checks("S123")) func aBlockFails() throws {
    let coordinator = try FakeCoordinator()
    let worker = try TestWorker(coordinator.endpoint)
    let result = try coordinator.run(
      FakeCoordinator.blocks(
        cpus: 1,
        [
          .command(FakeCoordinator.shell("echo broken >&2; exit 3")),
          .command(FakeCoordinator.shell("echo fine=yes > $OP_OUTPUT")),
          .call(OperationType(name: "nobody"), argument: []),
        ]))
    #expect(result.cause == .failed && !result.wasStopped)
    #expect(result.diagnostic.hasPrefix("2 of 3 blocks failed. Block 1: exit status 3: broken"))
    #expect(result.diagnostic.contains("Block 3: ") && result.diagnostic.contains("'nobody'"))
    let results = try Wire.decodeBlockResults(result.output)
    guard case .failed(let first) = results[0], case .succeeded = results[1],
      case .failed = results[2]
    else {
      Issue.record("\(results)")
      return
    }
    #expect(first.contains("exit status 3"))
    withExtendedLifetime(worker) {}
  }

  // S121; what cannot be read, and what leaves too much.
  @Test(.checks("S121")) func unusualBlocks() throws {
    let coordinator = try FakeCoordinator()
    let worker = try TestWorker(coordinator.endpoint)
    let none = try coordinator.run(FakeCoordinator.blocks([]))
    #expect(none == .success)
    var broken = FakeCoordinator.blocks(at: 1, firstIndex: 1, [])
    broken.payload = [7, 7, 7]
    #expect(try coordinator.run(broken).cause == .badArgument)
    let large = FakeCoordinator.shell("printf 'k=%040000d' 0 > $OP_OUTPUT")
    let result = try coordinator.run(
      FakeCoordinator.blocks(at: 2, firstIndex: 2, [.command(large), .command(large)]))
    #expect(result.cause == .badOutput && result.output.isEmpty)
    withExtendedLifetime(worker) {}
  }

  // What has ended is told while others run.
  @Test(.checks("S118")) func blocksTellTheirProgress() throws {
    let coordinator = try FakeCoordinator()
    let worker = try TestWorker(coordinator.endpoint)
    let attempt = FakeCoordinator.attempt(0)
    try coordinator.until("a welcome") { coordinator.conversation != nil }
    let open = "\(worker.folder)/open"
    let wait = FakeCoordinator.shell("while [ ! -e '\(open)' ]; do sleep 0.02; done")
    try coordinator.order {
      $0.templates = [
        FakeCoordinator.blocks(
          cpus: 3,
          [
            .command(wait), .command(FakeCoordinator.shell("exit 3")),
            .command(FakeCoordinator.shell("true")),
          ])
      ]
      $0.dispatches = [Dispatch(attempt: attempt, template: 0)]
    }
    let said = "2 of 3 blocks have ended: 2, 3; 1 failed"
    try coordinator.until("its progress") {
      coordinator.entries.contains(.progress(attempt, fraction: 2.0 / 3, text: said))
    }
    try Folders.make(open)
    try coordinator.until("its end") { coordinator.result(attempt) != nil }
    #expect(coordinator.result(attempt)?.cause == .failed)
  }

  // Blocks that have not begun are skipped; those that have are asked to stop.
  @Test(.checks("S122")) func blocksAreCancelled() throws {
    let coordinator = try FakeCoordinator()
    let worker = try TestWorker(coordinator.endpoint)
    let attempt = FakeCoordinator.attempt(0)
    try coordinator.until("a welcome") { coordinator.conversation != nil }
    try coordinator.order {
      $0.templates = [
        FakeCoordinator.blocks([
          .command(FakeCoordinator.shell("trap 'exit 0' TERM; touch ../../a; sleep 100 & wait")),
          .call(OperationType(name: "sleep"), argument: Array("100".utf8)),
          .command(FakeCoordinator.shell("touch ../../never")),
        ])
      ]
      $0.dispatches = [Dispatch(attempt: attempt, template: 0)]
    }
    try coordinator.until("its beginning") { Folders.size(of: "\(worker.folder)/a") != nil }
    try coordinator.order { $0.cancels = [.init(attempt: attempt, grace: .seconds(60))] }
    try coordinator.until("its end") { coordinator.result(attempt) != nil }
    let result = try #require(coordinator.result(attempt))
    #expect(result.cause == .none && result.wasStopped && !result.wasForced)
    let results = try Wire.decodeBlockResults(result.output)
    #expect(results.count == 3 && results[0] == .succeeded([]) && results[2] == .skipped)
    #expect(Folders.size(of: "\(worker.folder)/never") == nil)
  }

  // The template's time reaches all blocks, and so does the kill.
  @Test(.checks("G20", "G21")) func blocksRunOutOfTime() throws {
    let coordinator = try FakeCoordinator()
    let worker = try TestWorker(coordinator.endpoint)
    let stubborn = FakeCoordinator.shell(
      """
      trap '' TERM
      sh -c 'trap "" TERM; while :; do sleep 0.05; done' \(worker.folder) & wait; wait
      """)
    var template = FakeCoordinator.blocks([.command(stubborn), .command(stubborn)])
    template.timeout = .milliseconds(300)
    template.grace = .milliseconds(200)
    let result = try coordinator.run(template)
    #expect(result.cause == .timeout && result.wasForced)
    #expect(processes(with: worker.folder).isEmpty)
  }

  // A block's own time ends that block alone.
  @Test func oneBlockRunsOutOfTime() throws {
    let coordinator = try FakeCoordinator()
    let worker = try TestWorker(coordinator.endpoint)
    let slow = FakeCoordinator.shell("trap '' TERM; while :; do sleep 0.05; done") {
      $0.timeout = .milliseconds(100)
      $0.grace = .milliseconds(100)
    }
    let result = try coordinator.run(
      FakeCoordinator.blocks([.command(slow), .command(FakeCoordinator.shell("sleep 0.5"))]))
    #expect(result.cause == .failed)
    #expect(result.diagnostic.contains("Block 1: it ran out of time"))
    #expect(try Wire.decodeBlockResults(result.output)[1] == .succeeded([]))
    withExtendedLifetime(worker) {}
  }
}
