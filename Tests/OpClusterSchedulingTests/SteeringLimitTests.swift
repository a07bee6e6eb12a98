// Bounds of what steers many operations at once, at the limit and one past it, and names that are
// patterns.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct SteeringLimits {
  /// A suspended graph of one array.
  private func world(holding count: UInt32, work: Work? = nil) -> World {
    var world = World()
    world.invariantChecks = .never
    var submission = GraphSubmission(name: "many")
    submission.templates = [noops("x", count)]
    if let work { submission.templates[0].work = work }
    world.ask(.submit(submission))
    return world
  }

  // S97 S145
  @Test(.checks("S97", "S145")) func anExplicitSetHasABound() {
    let limit = UInt32(Limits.operationsPerTarget)
    var world = world(holding: limit + 1)
    let all = (0...limit).map { operation(1, $0) }
    guard case .refused(let refusal) = world.ask(.hold(.operations(all), true)) else {
      Issue.record("one past the limit was accepted")
      return
    }
    #expect(refusal.code == .limitExceeded)
    let most = OperationTarget.operations(Array(all.dropLast()))
    #expect(world.ask(.hold(most, true)) == .changed(limit, unchanged: 0))
    #expect(world.cell(1, 0)?.word == .held)
    #expect(world.cell(1, limit)?.word == .ready)
    #expect(world.scheduler.brokenInvariant() == nil)
  }

  // S58 S145
  @Test(.checks("S58", "S145")) func enqueueingHasABound() {
    var world = World()
    world.invariantChecks = .never
    let limit = UInt32(Limits.operationsPerTarget)
    var submission = GraphSubmission(name: "declared")
    submission.templates = [noops("x", limit + 1)]
    submission.isDeclaredOnly = true
    world.ask(.submit(submission))
    let all = (0...limit).map { operation(1, $0) }
    guard case .refused(let refusal) = world.ask(.enqueue(all, queue: "default")) else {
      Issue.record("one past the limit was accepted")
      return
    }
    #expect(refusal.code == .limitExceeded)
    #expect(world.scheduler.queues[0].members == 0)
    guard case .done = world.ask(.enqueue(Array(all.dropLast()), queue: "default")) else {
      Issue.record("the limit itself was refused")
      return
    }
    #expect(world.scheduler.queues[0].members == limit)
  }

  // What comes to its moment in one turn; one past the limit follows in the next, at once.
  @Test(.checks("S150")) func releasesOfATurnHaveABound() {
    let limit = UInt32(Limits.releasesPerTurn)
    var world = World()
    world.invariantChecks = .never
    var submission = GraphSubmission(name: "later")
    submission.templates = [noops("x", limit + 1)]
    submission.templates[0].notBefore = .after(.seconds(1))
    world.ask(.submit(submission))
    world.tick(after: .milliseconds(999))
    #expect(world.cell(1, 0)?.word == .held)
    world.tick(after: .milliseconds(1))
    #expect(world.cell(1, limit - 1)?.word == .ready && world.cell(1, limit)?.word == .held)
    #expect(world.scheduler.nextDeadline().map { $0 <= world.now } == true)
    world.tick(after: .zero)
    #expect(world.cell(1, limit)?.word == .ready)
    #expect(world.scheduler.brokenInvariant() == nil)
  }

  // The reply lists the first members and counts all; what a worker had and gave back counts as
  // cancelled, listed or not (S91).
  @Test(.checks("S91", "S97")) func allVerdictsAreCounted() throws {
    let count = UInt32(Limits.rowsPerReply) + 500
    var world = World()
    world.invariantChecks = .never
    world.join("w1", cpus: Int64(count))
    var submission = GraphSubmission(name: "many")
    submission.templates = [noops("x", count)]
    world.ask(.submit(submission))
    world.start(0, operation(1, 3))
    world.report(0)
    let reply = world.ask(.cancel(.selection(.graph(GraphID(1))), reason: "", grace: nil))
    world.report(0)
    let last = try #require(reply ?? world.replies[world.lastRequest])
    guard case .cancelled(let verdicts, let counts) = last else {
      Issue.record("not cancelled: \(last)")
      return
    }
    #expect(verdicts.count == Limits.rowsPerReply)
    #expect(counts[.cancelled] == count - 1 && counts[.executing] == 1 && counts.total == count)
  }

  // What many workers could take in one turn; the rest follows in the next, at once, and the most
  // urgent first.
  @Test(.checks("S47")) func assignmentsOfATurnHaveABound() {
    let limit = Limits.assignmentsPerTurn
    var world = World()
    world.invariantChecks = .never
    for at in 0..<20 { world.join("w\(at)", cpus: 1_000) }
    var submission = GraphSubmission(name: "many")
    submission.templates = [noops("x", 20_000), noops("urgent", 10)]
    submission.templates[1].priority = .high
    world.ask(.submit(submission))
    let given = world.workers.reduce(0) { $0 + $1.assigned.count }
    #expect(given >= limit && given <= limit + 2 * Int(LineHeads.most))
    #expect(world.cell(1, 20_009)?.phase == .dispatched)
    #expect(world.scheduler.nextDeadline().map { $0 <= world.now } == true)
    world.tick(after: .zero)
    #expect(world.workers.reduce(0) { $0 + $1.assigned.count } == 20_000)
    #expect(world.scheduler.brokenInvariant() == nil)
    // Nothing is left, so that nothing is due at once.
    #expect(world.scheduler.nextDeadline().map { $0 > world.now } ?? true)
  }

  // As far away as may be, and a nanosecond further.
  @Test(.checks("S150")) func delaysHaveABound() {
    var world = World()
    var submission = GraphSubmission(name: "far")
    submission.templates = [noops("x", 1)]
    for further: Int64 in [0, 1] {
      let span = Span(nanoseconds: Limits.longestDelay.nanoseconds + further)
      submission.templates[0].notBefore = .after(span)
      guard case .refused(let refusal) = world.ask(.submit(submission)) else {
        #expect(further == 0)
        continue
      }
      #expect(further == 1 && refusal.code == .badRequest)
    }
  }

  // An element's own argument and the blocks that were added go together, and have one bound.
  @Test(.checks("S120")) func blocksOfAnArrayAreJoined() {
    var world = World()
    let worker = world.join("w1")
    var submission = GraphSubmission(name: "g")
    var template = OperationTemplate(name: "b", count: 2, work: .blocks([]))
    template.isArray = true
    template.isHeld = true
    template.elementArguments.append([1, 2])
    template.elementArguments.append([3])
    submission.templates = [template]
    world.ask(.submit(submission))
    let most = Array(repeating: UInt8(9), count: Limits.payloadBytes - 2)
    guard case .refused(let refusal) = world.ask(.addBlocks(operation(1, 0), most + [9])) else {
      Issue.record("one past the limit was accepted")
      return
    }
    #expect(refusal.code == .limitExceeded)
    world.ask(.addBlocks(operation(1, 0), most))
    world.ask(.hold(.operations([operation(1, 0), operation(1, 1)]), false))
    let arguments = world.workers[worker].assigned.map(\.argument)
    #expect(arguments == [[1, 2] + most, [3]])
  }

  // What it came with counts too.
  @Test(.checks("S120")) func blocksHaveABound() {
    var world = world(holding: 1, work: .blocks([]))
    let most = Array(repeating: UInt8(1), count: Limits.payloadBytes)
    guard case .done = world.ask(.addBlocks(operation(1, 0), most)) else {
      Issue.record("the limit itself was refused")
      return
    }
    guard case .refused(let refusal) = world.ask(.addBlocks(operation(1, 0), [1])) else {
      Issue.record("one past the limit was accepted")
      return
    }
    #expect(refusal.code == .limitExceeded)
    // None is no change, and no commit.
    let before = world.scheduler.lastCommit
    #expect(world.ask(.addBlocks(operation(1, 0), [])) == .done(before))
    // They go with the operation's end.
    world.ask(.cancel(.operations([operation(1, 0)]), reason: "", grace: nil))
    #expect(!world.scheduler.graphs.contains(1))
  }

  // A whole stage is gone through once, however many wait for all of it.
  @Test(.checks("S97")) func dependentsOfLargeStagesAreFoundOnce() {
    var world = World()
    world.invariantChecks = .never
    var submission = GraphSubmission(name: "wide")
    submission.templates = [noops("a"), noops("b", 20_000), noops("c", 20_000), noops("d")]
    submission.groupEdges = (0..<3).map { GroupEdge(from: $0, to: $0 + 1, policy: .succeeded) }
    world.ask(.submit(submission))
    let reply = world.ask(.setPriority(.dependents(of: operation(1, 0)), .low))
    #expect(reply == .changed(40_001, unchanged: 0))
    let last = world.ask(.hold(.dependents(of: operation(1, 40_001)), true))
    #expect(last == .changed(0, unchanged: 0))
  }

  // S97
  @Test(
    .checks("S97"),
    arguments: [
      ("align", "align", true), ("align", "aligned", false), ("al*", "align", true),
      ("al*", "al", true), ("*", "", true), ("?", "", false), ("?", "é", true), ("??", "a", false),
      ("*a*b", "xaxxb", true), ("*a*b", "xaxxbc", false), ("a**c", "ac", true), ("", "a", false),
      ("*.fastq?", "r.fastq1", true), ("a?c", "abc", true), ("a?c", "a*c", true),
      ("a*", "ba", false), ("*é?", "xéy", true), ("r*n", "rén", true), ("?", "\r\n", true),
      ("a?b", "a👩‍👩‍👧b", true), ("??", "👩‍👩‍👧", false),
    ])
  func patterns(pattern: String, name: String, isMeant: Bool) {
    #expect(NamePattern(pattern).matches(name) == isMeant)
  }

  // What looks like a pattern means itself first, and no length of it takes for ever.
  @Test(.checks("S97")) func patternsOfPatterns() {
    #expect(NamePattern("a?*").matches("a?*"))
    #expect(!NamePattern("align").isPattern)
    let stars = String(repeating: "*a", count: 60)
    #expect(!NamePattern(stars + "b").matches(String(repeating: "a", count: 120)))
  }
}
