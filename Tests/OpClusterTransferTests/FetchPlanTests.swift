// The plan of a fetcher, in worlds of holders by chance.

import Citations
import OpClusterModel
import OpClusterStore
import Testing

@testable import OpClusterTransfer

@Suite struct FetchPlanTests {
  @Test("Holders by chance: each content ends once, its bytes come in order, credit is kept")
  func worlds() {
    for seed in 0..<300 as Range<UInt64> {
      var world = World(seed: seed)
      world.run()
    }
  }

  @Test("A content that only a silent holder has is given up when the patience is over")
  func silence() {
    var plan = FetchPlan(patience: .seconds(10))
    let source = ContentSource(endpoint: "tcp://silent:1")
    let content = World.content(1, size: 10)
    plan.want(content, from: [source], at: .zero)
    #expect(plan.takeActions() == [.connect(source)])
    plan.connected(source, at: .zero + .seconds(1))
    _ = plan.takeActions()
    var now = Instant.zero
    var actions: [FetchPlan.Action] = []
    while let next = plan.nextDeadline, next < .zero + .seconds(60) {
      now = next
      plan.passTime(at: now)
      for action in plan.takeActions() {
        actions.append(action)
        if case .connect(let source) = action { plan.connected(source, at: now) }
      }
    }
    #expect(actions.contains(.giveUp(content.digest, .unreachable)))
    #expect(now < .zero + .seconds(25))
    #expect(plan.count == 0)
  }

  @Test("What its holders say that it cannot be had is believed soon, unless bytes come meanwhile")
  func refusals() {
    for (refusal, failure) in [
      (ContentRefusal.notGranted, FetchFailure.notGranted), (.absent, .absent),
      (.damaged, .damaged), (.busy, .busy), (.failed, .failed),
    ] {
      var plan = FetchPlan(patience: .seconds(10))
      let source = ContentSource(endpoint: "tcp://refuses:1")
      let content = World.content(1, size: 10)
      plan.want(content, from: [source], at: .zero)
      plan.connected(source, at: .zero)
      var (now, end): (Instant, Instant?) = (.zero, nil)
      var hasGiven = false
      while end == nil, now < .zero + .seconds(600) {
        for action in plan.takeActions() {
          switch action {
          case .send(_, .wish(let number, _)):
            // In between a byte comes: it is there after all.
            if !hasGiven, now > .zero + .seconds(2) {
              hasGiven = true
              _ = plan.take(piece: 1, at: 0, number: number, from: source, at: now)
            }
            plan.refused(refusal, number: number, from: source, at: now)
          case .giveUp(_, let reason):
            #expect(reason == failure)
            end = now
          case .connect(let source): plan.connected(source, at: now)
          case .close, .send: break
          }
        }
        if let next = plan.nextDeadline, end == nil {
          now = max(now, next)
          plan.passTime(at: now)
        }
      }
      let moment = end ?? .distantFuture
      // After a byte, news of the holders is believed soon; a crowd is waited for; else patience.
      let expected: ClosedRange<Int64> =
        failure.isNewsOfHolders ? 4...6 : failure == .busy ? 120...130 : 11...14
      let seconds = Int64(saturating: (moment - .zero).seconds)
      #expect(hasGiven && expected.contains(seconds), "\(failure) at \(moment)")
    }
    #expect(!FetchFailure.unreachable.isNewsOfHolders && !FetchFailure.different.isNewsOfHolders)
  }

  /// Each of them needs more than one share, and there are more than a holder sends at a time.
  @Test("Many large contents of one holder come one after another, without a pause")
  func manyLarge() {
    var plan = FetchPlan(patience: .seconds(10))
    let source = ContentSource(endpoint: "tcp://one:1")
    let size: Int64 = 10_000_000
    for number in 0..<200 {
      plan.want(World.content(number, size: size), from: [source], at: .zero)
    }
    plan.connected(source, at: .zero)
    var next: [UInt64: Int64] = [:]
    var arrived = 0
    while arrived < 200 {
      var sent: [(number: UInt64, bytes: Int64)] = []
      for action in plan.takeActions() {
        switch action {
        case .send(_, .wish(let number, let wish)): sent.append((number, wish.credit))
        case .send(_, .credit(let number, let bytes)): sent.append((number, bytes))
        case .send, .connect: break
        case .close, .giveUp: Issue.record("\(action)")
        }
      }
      if sent.isEmpty { break }
      for (number, bytes) in sent {
        let verdict = plan.take(
          piece: Int(bytes), at: next[number, default: 0], number: number, from: source,
          at: .zero)
        next[number, default: 0] += bytes
        guard case .last(let digest) = verdict else { continue }
        arrived += 1
        plan.drop(digest, at: .zero)
      }
    }
    #expect(arrived == 200 && plan.count == 0)
  }

  /// A holder of what is read by many refuses, and so does the next one; the third has just come.
  @Test("Who waits for a place begins at once at a holder that comes")
  func anotherHolder() {
    var plan = FetchPlan(patience: .seconds(10), hearsOfHolders: true)
    let sources = (1...4).map { ContentSource(endpoint: "tcp://holder\($0):1") }
    let content = World.content(1, size: 100)
    func refuse(by source: ContentSource) {
      plan.connected(source, at: .zero)
      var wishes = 0
      for case .send(source, .wish(let number, let wish)) in plan.takeActions() {
        #expect(wish.hearsOfHolders)
        plan.refused(.busy, number: number, from: source, at: .zero)
        wishes += 1
      }
      #expect(wishes == 1)
    }
    plan.want(content, from: [sources[0]], at: .zero)
    refuse(by: sources[0])
    #expect(plan.takeActions().isEmpty, "it waits")
    plan.want(content, from: [sources[0]], at: .zero)
    #expect(plan.takeActions().isEmpty, "of this one it has known")
    plan.want(content, from: [sources[0], sources[1]], at: .zero)
    refuse(by: sources[1])
    plan.want(content, from: [sources[2], sources[3]], at: .zero)
    refuse(by: sources[2])
    refuse(by: sources[3])
    // Those wait who are served in the end: much longer than others.
    var now = Instant.zero
    while let next = plan.nextDeadline, now < .zero + .seconds(1_000) {
      now = next
      plan.passTime(at: now)
      var actions = plan.takeActions()
      while !actions.isEmpty {
        for action in actions {
          if case .connect(let source) = action { plan.connected(source, at: now) }
          guard case .send(let source, .wish(let number, _)) = action else { continue }
          plan.refused(.busy, number: number, from: source, at: now)
        }
        actions = plan.takeActions()
      }
    }
    #expect(plan.wants(content.digest) && now >= .zero + .seconds(1_000))
  }

  /// One holder is busy, the other one out of reach: the first serves it after a while. However
  /// often further holders are told meanwhile that are busy as well, it does not ask more often.
  @Test("A holder out of reach does not end the wait for a busy one", arguments: [0, 5])
  func busyAndOutOfReach(told: Int) {
    var plan = FetchPlan(patience: .seconds(10), hearsOfHolders: true)
    let (busy, gone) = (
      ContentSource(endpoint: "tcp://busy:1"), ContentSource(endpoint: "tcp://gone:1")
    )
    let content = World.content(1, size: 100)
    var (now, wishes, isGiven) = (Instant.zero, 0, false)
    func obey() {
      var actions = plan.takeActions()
      while !actions.isEmpty {
        for action in actions {
          switch action {
          case .connect(let source) where source != gone: plan.connected(source, at: now)
          case .send(let source, .wish(let number, _)):
            if source == busy { wishes += 1 }
            guard source == busy, now >= .zero + .seconds(100) else {
              plan.refused(.busy, number: number, from: source, at: now)
              continue
            }
            isGiven = plan.take(piece: 100, at: 0, number: number, from: source, at: now)
              == .last(content.digest)
          case .giveUp: Issue.record("given up after \((now - .zero).wholeSeconds) s")
          case .connect, .close, .send: break
          }
        }
        actions = plan.takeActions()
      }
    }
    plan.want(content, from: [busy, gone], at: now)
    obey()
    for number in 0..<told {
      plan.want(content, from: [ContentSource(endpoint: "tcp://x\(number):1")], at: now)
      obey()
    }
    while !isGiven, let next = plan.nextDeadline, next < .zero + .seconds(300) {
      now = max(now, next)
      plan.passTime(at: now)
      obey()
    }
    #expect(isGiven && plan.wants(content.digest))
    // No more than once a second, after some at the start.
    #expect(wishes < 120, "\(wishes) wishes")
  }

  @Test("Alarms do not pile up, however many contents pass through one connection")
  func alarms() {
    var plan = FetchPlan(patience: .seconds(10))
    let source = ContentSource(endpoint: "tcp://quick:1")
    for number in 0..<10_000 {
      let content = World.content(number, size: 5)
      plan.want(content, from: [source], at: .zero)
      plan.connected(source, at: .zero)
      for case .send(_, .wish(let number, _)) in plan.takeActions() {
        let verdict = plan.take(piece: 5, at: 0, number: number, from: source, at: .zero)
        #expect(verdict == .last(content.digest))
      }
      plan.drop(content.digest, at: .zero)
    }
    #expect(plan.waitingAlarms <= 2)
  }
}

/// Holders that give, refuse, lie and go away, and a plan that has to cope.
private struct World {
  private var chance: Chance
  private var plan = FetchPlan(patience: .seconds(10))
  private var now = Instant.zero
  private let sources: [ContentSource]
  private let isGood: [Bool]
  private var connections: [ContentSource: Connection] = [:]
  private var received: [ContentDigest: Int64] = [:]
  private var open: [ContentDigest: StoredContent] = [:]
  private var good: Set<ContentDigest> = []
  private var ended: [ContentDigest: FetchFailure?] = [:]

  private struct Connection {
    var isOpen = false
    /// Transfers: what is sent next, and how much may be.
    var transfers: [UInt64: (content: ContentDigest, next: Int64, credit: Int64)] = [:]
  }

  static func content(_ number: Int, size: Int64) -> StoredContent {
    StoredContent(
      digest: ContentHash.digest(of: Array("content \(number)".utf8)), size: size)
  }

  init(seed: UInt64) {
    chance = Chance(seed: seed)
    let count = 1 + Int(chance.next() % 4)
    sources = (0..<count).map { ContentSource(endpoint: "tcp://holder\($0):1") }
    // At least one neither dies for good nor lies.
    isGood = (0..<count).map { $0 == 0 }
  }

  mutating func run() {
    // More than one holder sends at a time.
    for number in 0..<(chance.next() % 3 == 0 ? 200 : 60) {
      let sizes: [Int64] = [0, 1, 1_000, 300_000, 3_000_000, 20_000_000]
      let size = sizes[Int(chance.next() % UInt64(sizes.count))]
      let content = Self.content(number, size: size)
      open[content.digest] = content
      var some = sources.filter { _ in chance.next() % 2 == 0 }
      if some.contains(sources[0]) { good.insert(content.digest) }
      some.shuffle(by: &chance)
      plan.want(content, from: some, at: now)
      step()
    }
    var steps = 0
    while !open.isEmpty {
      step()
      steps += 1
      guard steps < 200_000 else {
        Issue.record("\(open.count) contents never end")
        return
      }
    }
    #expect(plan.count == 0)
    for digest in good where ended[digest] != .some(nil) {
      // Who gives up what a good holder has was unlucky with it for ten seconds.
      Issue.record("a good holder's content ended as \(String(describing: ended[digest]))")
    }
  }

  private mutating func step() {
    now = now + .milliseconds(Int64(chance.next() % 40))
    if let next = plan.nextDeadline, next <= now { plan.passTime(at: now) }
    carryOut()
    for (at, source) in sources.enumerated() {
      guard var connection = connections[source] else { continue }
      if !connection.isOpen {
        if isGood[at] || chance.next() % 4 > 0 {
          connections[source]?.isOpen = true
          plan.connected(source, at: now)
        } else {
          lose(source)
        }
      } else if chance.next() % (isGood[at] ? 400 : 20) == 0 {
        lose(source)
      } else if let number = connection.transfers.keys.sorted().randomElement(by: &chance) {
        act(number, of: source, &connection, isGood: isGood[at])
      }
      carryOut()
    }
  }

  private mutating func lose(_ source: ContentSource) {
    connections[source] = nil
    plan.lost(source, at: now)
  }

  private mutating func act(
    _ number: UInt64, of source: ContentSource, _ connection: inout Connection, isGood: Bool
  ) {
    guard let transfer = connection.transfers[number], let content = open[transfer.content]
    else { return }
    if !isGood, chance.next() % 3 == 0 {
      connections[source]?.transfers[number] = nil
      let refusal = ContentRefusal.allCases.randomElement(by: &chance) ?? .busy
      return plan.refused(refusal, number: number, from: source, at: now)
    }
    let left = content.size - transfer.next
    let count = min(left, transfer.credit, Int64(Limits.contentPieceBytes))
    guard count > 0 || left == 0 else { return }
    let isLast = count == left
    connections[source]?.transfers[number]?.next += count
    connections[source]?.transfers[number]?.credit -= count
    if isLast { connections[source]?.transfers[number] = nil }
    let verdict = plan.take(
      piece: Int(count), at: transfer.next, number: number, from: source, at: now)
    switch verdict {
    case .late, .broken: Issue.record("a proper piece is \(verdict)")
    case .next(let digest): take(count, at: transfer.next, of: digest)
    case .last(let digest):
      take(count, at: transfer.next, of: digest)
      #expect(received[digest] == content.size)
      if !isGood, chance.next() % 3 == 0 {
        received[digest] = 0
        plan.restart(digest, at: now)
      } else {
        end(digest, nil)
        plan.drop(digest, at: now)
      }
    }
  }

  private mutating func take(_ count: Int64, at offset: Int64, of digest: ContentDigest) {
    #expect(received[digest, default: 0] == offset)
    received[digest, default: 0] += count
  }

  private mutating func end(_ digest: ContentDigest, _ failure: FetchFailure?) {
    #expect(ended.updateValue(failure, forKey: digest) == nil, "it ended twice")
    open[digest] = nil
  }

  private mutating func carryOut() {
    for action in plan.takeActions() {
      switch action {
      case .connect(let source):
        #expect(connections[source] == nil)
        connections[source] = Connection()
      case .close(let source): connections[source] = nil
      case .giveUp(let digest, let failure): end(digest, failure)
      case .send(let source, .wish(let number, let wish)):
        #expect(connections[source]?.isOpen == true)
        connections[source]?.transfers[number] = (wish.digest, wish.offset, wish.credit)
      case .send(let source, .credit(let number, let bytes)):
        connections[source]?.transfers[number]?.credit += bytes
      case .send(let source, .stop(let number)):
        connections[source]?.transfers[number] = nil
      case .send(_, .offer), .send(_, .piece): Issue.record("a reader leaves nothing")
      }
    }
    for connection in connections.values {
      let credit = connection.transfers.values.reduce(0) { $0 + $1.credit }
      #expect(credit <= Limits.contentCredit)
    }
  }
}

/// Chance from a seed.
struct Chance {
  private var state: UInt64
  init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 1 }
  mutating func next() -> UInt64 {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return state
  }
}

extension Array {
  fileprivate func randomElement(by chance: inout Chance) -> Element? {
    isEmpty ? nil : self[Int(chance.next() % UInt64(count))]
  }

  fileprivate mutating func shuffle(by chance: inout Chance) {
    for at in indices.dropFirst() { swapAt(at, Int(chance.next() % UInt64(at + 1))) }
  }
}
