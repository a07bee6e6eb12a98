// Inputs are made readable beside the loop, which begins an attempt when they are there.

import Citations
import Glibc
import OpClusterModel
import OpClusterSystem
import OpClusterWire
import Synchronization
import Testing

@testable import OpClusterAttempts

@Suite(.checks("S137", "S140")) struct InputLayoutTests {
  /// A store whose links wait for `open`, and what was linked.
  private final class Gate: Sendable {
    private let state = Mutex<(isOpen: Bool, linked: [String])>((false, []))
    var linked: [String] { state.withLock { $0.linked } }
    func open() { state.withLock { $0.isOpen = true } }

    func pass(_ path: String) {
      while !state.withLock({ $0.isOpen }) { usleep(1_000) }
      state.withLock { $0.linked.append(path) }
    }
  }

  private struct Refusal: Error {}

  private static func store(_ link: @escaping @Sendable (String) throws -> Void) -> AttemptStore {
    AttemptStore(
      keepBytes: { _ in throw Refusal() }, keepFile: { _ in throw Refusal() },
      link: { _, path, _ in try link(path) })
  }

  /// An attempt that reads files of one dependency.
  private static func job(_ number: UInt32, files: Int) throws -> Job {
    var output = OperationOutput()
    for number in 0..<files {
      let digest = try #require(ContentDigest(bytes: [UInt8](repeating: UInt8(number), count: 32)))
      output.files.append(
        StoredFile(
          name: "f", path: "\(number)", isExecutable: false,
          content: StoredContent(digest: digest, size: 1)))
    }
    let graph = GraphID(1)
    var announcement = TemplateAnnouncement(
      graph: graph, graphName: "g", template: 1, firstIndex: 0, name: "read", isArray: false,
      indexRuns: [], work: .nothing, payload: [], demand: .none, qos: .default)
    announcement.inputFiles = [
      InputFile(operation: "make", file: "f", folder: "make", isByIndex: false)
    ]
    let input = DependencyInput(
      operation: OperationID(graph: graph, index: 0), name: "make", index: nil,
      outcome: .succeeded, output: Wire.encode(output: output))
    return Job(
      attempt: AttemptID(operation: OperationID(graph: graph, index: number), attempt: 1), run: 1,
      template: PreparedTemplate(announcement), inputs: [input])
  }

  private static func withFolder(_ body: (String) throws -> Void) throws {
    let folder = "/tmp/attempts-test-\(UInt64.random(in: 0...UInt64.max))"
    try Folders.make(folder)
    defer { Folders.removeTree(folder) }
    try body(folder)
  }

  /// Waits until so many have come, and at most half a minute.
  private static func take(
    _ count: Int, of layouts: InputLayouts
  ) throws -> (ready: [Job], ended: [(AttemptID, AttemptResult)]) {
    var all: (ready: [Job], ended: [(AttemptID, AttemptResult)]) = ([], [])
    let deadline = ContinuousClock.now + .seconds(30)
    while all.ready.count + all.ended.count < count {
      try #require(ContinuousClock.now < deadline, "only \(all)")
      var poll = pollfd(fd: layouts.descriptor, events: Int16(POLLIN), revents: 0)
      _ = unsafe Glibc.poll(&poll, 1, 1_000)
      let news = layouts.takeEnded()
      all.ready += news.ready.map(\.0)
      all.ended += news.ended
    }
    return all
  }

  @Test func theLoopDoesNotWait() throws {
    try Self.withFolder { folder in
      let gate = Gate()
      let layouts = try InputLayouts(Self.store { gate.pass($0) })
      let jobs = try (0..<20).map { try Self.job($0, files: 3) }
      for job in jobs {
        layouts.begin(job, argument: [], in: "\(folder)/\(job.attempt.operation.index)")
      }
      #expect(layouts.takeEnded().ready.isEmpty && layouts.isWaiting(jobs[19].attempt))
      gate.open()
      let all = try Self.take(20, of: layouts)
      #expect(Set(all.ready.map(\.attempt)) == Set(jobs.map(\.attempt)) && all.ended.isEmpty)
      #expect(gate.linked.count == 60)
      #expect(gate.linked.contains("\(folder)/7/files/make/f/2"))
      #expect(!layouts.isWaiting(jobs[19].attempt))
    }
  }

  /// Who is stopped meanwhile does not begin, and not all of its files are laid out.
  @Test(.checks("S90")) func stoppedMeanwhile() throws {
    try Self.withFolder { folder in
      let gate = Gate()
      let layouts = try InputLayouts(Self.store { gate.pass($0) })
      let job = try Self.job(0, files: 200)
      layouts.begin(job, argument: [], in: "\(folder)/0")
      layouts.withdraw(job.attempt)
      gate.open()
      let all = try Self.take(1, of: layouts)
      #expect(all.ready.isEmpty && all.ended.first?.0 == job.attempt)
      #expect(all.ended.first?.1.cause == .failed, "why, is the brain's to say")
      #expect(gate.linked.count <= 1)
    }
  }

  /// Who waits behind others that take long ends at once.
  @Test(.checks("S90")) func stoppedInLine() throws {
    try Self.withFolder { folder in
      let gate = Gate()
      let layouts = try InputLayouts(Self.store { gate.pass($0) })
      for number in 0..<UInt32(Limits.inputThreads) {
        layouts.begin(try Self.job(number, files: 1), argument: [], in: "\(folder)/\(number)")
      }
      // All threads have begun.
      let deadline = ContinuousClock.now + .seconds(30)
      while Folders.names(in: folder).count < Limits.inputThreads {
        try #require(ContinuousClock.now < deadline)
        usleep(1_000)
      }
      let job = try Self.job(99, files: 1)
      layouts.begin(job, argument: [], in: "\(folder)/99")
      layouts.withdraw(job.attempt)
      let all = try Self.take(1, of: layouts)
      #expect(all.ended.map(\.0) == [job.attempt] && gate.linked.isEmpty)
      gate.open()
      #expect(try Self.take(Limits.inputThreads, of: layouts).ready.count == Limits.inputThreads)
      #expect(!Folders.names(in: folder).contains("99"))
    }
  }

  @Test func whatCannotBeLaidOut() throws {
    try Self.withFolder { folder in
      let layouts = try InputLayouts(Self.store { _ in throw Refusal() })
      let job = try Self.job(0, files: 2)
      layouts.begin(job, argument: [], in: "\(folder)/0")
      let all = try Self.take(1, of: layouts)
      #expect(all.ended.first?.1.cause == .cannotStart)
      #expect(Folders.names(in: folder) == [])
    }
  }

  /// At most so many at once, and each item once.
  @Test func threads() throws {
    let seen = Mutex<(now: Int, most: Int, items: [Int])>((0, 0, []))
    let threads = WorkThreads<Int>(named: "test", atMost: Limits.outputThreads) { item in
      seen.withLock {
        $0.now += 1
        $0.most = max($0.most, $0.now)
        $0.items.append(item)
      }
      usleep(500)
      seen.withLock { $0.now -= 1 }
    }
    for item in 0..<200 { threads.add(item) }
    let deadline = ContinuousClock.now + .seconds(30)
    while seen.withLock({ $0.items.count < 200 || $0.now > 0 }) {
      try #require(ContinuousClock.now < deadline)
      usleep(1_000)
    }
    let (most, items) = seen.withLock { ($0.most, $0.items) }
    #expect(most <= Limits.outputThreads && most <= Limits.inputThreads)
    #expect(items.sorted() == Array(0..<200))
  }
}
