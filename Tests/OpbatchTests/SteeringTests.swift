// The words of the steering commands, and which operations a graph that runs again takes over.

import ArgumentParser
import Citations
import OpClusterModel
import OpClusterReading
import Testing

@testable import opbatch

@Suite struct SteeringTests {
  @Test func settingsAndSelectorsAreToldApart() throws {
    let (selectors, settings) = try SetOperations.parse(
      ["12/align", "priority=high", "13", "queue=big"])
    #expect(selectors == ["12/align", "13"])
    #expect(settings == OperationSettings(priority: .high, queue: "big"))
    #expect(try SetOperations.parse(["1", "priority=-6"]).settings.priority == .low)
    let target = OperationTarget.selection(.graph(GraphID(1)))
    #expect(
      settings.requests(target) == [.setQueue(target, queue: "big"), .setPriority(target, .high)])
  }

  @Test(arguments: [
    (["1", "prioriti=high"], "did you mean 'priority'?"),
    (["1", "priority=hihg"], "did you mean 'high'?"),
    (["1", "colour=red"], "settings are priority and queue"), (["1", "queue="], ""),
    (["1", "=x"], ""),
  ]) func wrongSettings(words: [String], hint: String) {
    #expect(throws: Failure.self) { try SetOperations.parse(words) }
    do throws(Failure) {
      _ = try SetOperations.parse(words)
    } catch {
      #expect(error.hint == hint)
      #expect(error.status == .usage)
    }
  }

  @Test(arguments: [
    ["set", "12"], ["set", "priority=high"], ["retry", "12/a", "--failed"], ["retry"], ["hold"],
    ["run", "--call", "a", "--", "ls"], ["run", "--input", "1", "--", "ls"],
    ["run", "--call", "a", "-m", "x"], ["ls", "--timeout", "0"], ["wait", "1", "--timeout", "0ms"],
    ["queue", "barrier"], ["run", "--call", "a", "-e", "B=c"],
  ]) func wrongCommandLines(words: [String]) {
    #expect(throws: (any Error).self) { try Opbatch.parseAsRoot(words) }
  }

  @Test func commandLinesOfSteering() throws {
    let cancel = try Opbatch.parseAsRoot(["cancel", "1/a*", "--dependents", "-l", "k=v"])
    #expect((cancel as? Cancel)?.dependents == true)
    #expect(try (cancel as? Cancel)?.filters.selection("1/a*").labels.count == 1)
    let barrier = try Opbatch.parseAsRoot(["queue", "barrier", "io", "--wait", "--", "ls", "-l"])
    #expect((barrier as? QueueBarrier)?.command == ["ls", "-l"])
  }

  @Test func types() throws {
    #expect(try CallRequest.type("a.b") == OperationType(name: "a.b"))
    #expect(try CallRequest.type("a@12") == OperationType(name: "a", version: 12))
    for text in ["", "@1", "a@", "a@0", "a@x", "a@1@2"] {
      #expect(throws: Failure.self) { try CallRequest.type(text) }
    }
  }

  @Test func inputs() throws {
    #expect(try CallRequest.input(nil).isEmpty)
    #expect(try CallRequest.input("[1]") == Array("[1]".utf8))
    for (text, part) in [("{\n a", "line 2, column 2"), ("[1", "at its end"), ("x", "line 1")] {
      do throws(Failure) {
        _ = try CallRequest.input(text)
        Issue.record("'\(text)' is taken")
      } catch {
        #expect(error.message.contains(part), "\(error.message)")
        #expect(error.status == .badInput)
      }
    }
    #expect(throws: Failure.self) { try CallRequest.input("@/nonexistent") }
    let most = Limits.payloadBytes
    let long = "\"" + String(repeating: "x", count: most - 2) + "\""
    #expect(try CallRequest.input(long).count == most)
    #expect(throws: Failure.self) { try CallRequest.input(long + " ") }
  }

  /// What goes into the queue is a barrier, with and without a command.
  @Test func barriers() {
    let empty = QueueBarrier.submission(queue: "io", command: [])
    #expect(empty.templates.map(\.isBarrier) == [true])
    #expect(empty.templates[0].work == .nothing)
    #expect(empty.queues == [.named("io")])
    let full = QueueBarrier.submission(queue: "io", command: ["ls"])
    #expect(full.templates.map(\.isBarrier) == [true])
    #expect(full.templates[0].work == .command)
    #expect(full.queues == [.named("io")])
  }
}

/// ```
/// a[3] ──same──▶ b[3] ──all──▶ c      d      e ──(single)──▶ d
/// ```
@Suite struct RetryPlanTests {
  static let submission: GraphSubmission = {
    var submission = GraphSubmission(name: "g")
    submission.templates = [
      OperationTemplate(name: "a", count: 3, work: .command),
      OperationTemplate(name: "b", count: 3, work: .command),
      OperationTemplate(name: "none", count: 0, work: .command),
      OperationTemplate(name: "c", work: .command), OperationTemplate(name: "d", work: .command),
      OperationTemplate(name: "e", work: .command),
    ]
    submission.groupEdges = [
      GroupEdge(from: 0, to: 1, policy: .succeeded, match: .sameIndex),
      GroupEdge(from: 1, to: 3, policy: .finished),
    ]
    submission.elementEdges = ElementEdges(from: [8], to: [7], policies: [.succeeded])
    return submission
  }()

  private func reused(
    _ outcomes: [Outcome], again: Set<UInt32>?, onlyFailed: Bool = false
  ) -> [UInt32] {
    let runs = RetryPlan(Self.submission, outcomes.map(\.rawValue), of: GraphID(4))
      .reused(again: again, onlyFailed: onlyFailed)
    #expect(runs.graph == GraphID(4))
    return (0..<runs.runCount).flatMap { Array(runs.run($0)) }
  }
  private static let good = Array(repeating: Outcome.succeeded, count: 9)

  /// S11.
  @Test(.checks("S11")) func whatIsTakenOver() {
    var mixed = Self.good
    mixed[1] = .failed
    mixed[4] = .skipped
    mixed[8] = .lost
    #expect(reused(Self.good, again: nil) == [])
    #expect(reused(mixed, again: nil) == [])
    #expect(reused(mixed, again: nil, onlyFailed: true) == [0, 2, 3, 5, 6, 7])
    #expect(reused(Self.good, again: nil, onlyFailed: true) == Array(0..<9))
    #expect(reused(Self.good, again: [1]) == [0, 2, 3, 5, 7, 8])
    #expect(reused(mixed, again: [0]) == [2, 5, 7])
    #expect(reused(Self.good, again: [8]) == Array(0..<7))
    #expect(reused(Self.good, again: [6]) == [0, 1, 2, 3, 4, 5, 7, 8])
    #expect(reused(Self.good, again: [99]) == Array(0..<9))
  }
}
