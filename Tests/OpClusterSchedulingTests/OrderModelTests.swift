// Order and cascade against models so simple that they can be believed: random graphs, one seed
// each, every single decision compared.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct AgainstModels {
  /// The choice rule as Semantics.md has it: S47, S51 and S52 in four lines.
  private struct Line {
    struct Entry {
      var id: OperationID
      var priority: Priority
      var place: Int
      var needs: [OperationID]
      var isDone = false
    }
    var entries: [Entry] = []
    var lastPlace = 0

    func next() -> OperationID? {
      let done = Set(entries.filter(\.isDone).map(\.id))
      return entries.filter { !$0.isDone && done.isSuperset(of: $0.needs) }
        .max { ($0.priority, -$0.place) < ($1.priority, -$1.place) }?.id
    }
  }

  // One worker with one slot is given exactly what the rule says.
  @Test(.checks("S46", "S47", "S51", "S52", "S59"), arguments: 0..<120)
  func dispatchOrderFollowsPriorityThenPlace(seed: UInt64) {
    var chance = Seeded(state: seed)
    var world = World()
    var line = Line()
    world.join("w1", cpus: 1)
    var graphs = 0
    for _ in 0..<60 {
      switch chance.below(6) {
      case 0 where graphs < 8: submit(&world, &line, &graphs, &chance)
      case 1: changePriority(&world, &line, &chance)
      default: runOne(&world, &line, seed)
      }
    }
    while line.entries.contains(where: { !$0.isDone }) {
      if !runOne(&world, &line, seed) { break }
    }
    #expect(world.brokenInvariant == nil, "seed \(seed)")
    #expect(world.endings.count == graphs, "seed \(seed)")
  }

  private func submit(
    _ world: inout World, _ line: inout Line, _ graphs: inout Int, _ chance: inout Seeded
  ) {
    graphs += 1
    var submission = GraphSubmission(name: "random")
    for at in 0..<(1 + chance.below(6)) {
      let priority = Priority.allCases.randomElement(using: &chance) ?? .normal
      var template = noops("t\(at)")
      template.priority = priority
      submission.templates.append(template)
      var needs: [OperationID] = []
      for before in 0..<at where chance.chance(25) {
        submission.groupEdges.append(
          GroupEdge(from: UInt32(before), to: UInt32(at), policy: .finished))
        needs.append(operation(UInt32(graphs), UInt32(before)))
      }
      line.lastPlace += 1
      line.entries.append(
        Line.Entry(
          id: operation(UInt32(graphs), UInt32(at)), priority: priority, place: line.lastPlace,
          needs: needs))
    }
    world.ask(.submit(submission))
  }

  /// S52: of something that no worker holds; to the tail of its new level.
  private func changePriority(
    _ world: inout World, _ line: inout Line, _ chance: inout Seeded
  ) {
    let free = line.entries.indices.filter {
      !line.entries[$0].isDone && world.worker(of: line.entries[$0].id) == nil
    }
    guard let at = free.randomElement(using: &chance) else { return }
    let priority = Priority.allCases.randomElement(using: &chance) ?? .normal
    let target = OperationTarget.operations([line.entries[at].id])
    #expect(world.ask(.setPriority(target, priority)) == .changed(1, unchanged: 0))
    if line.entries[at].priority == priority { return }
    line.lastPlace += 1
    line.entries[at].priority = priority
    line.entries[at].place = line.lastPlace
  }

  /// Runs what the worker holds to its end and compares what it is given next; an operation takes
  /// a second, so that nothing is fetched ahead.
  @discardableResult
  private func runOne(_ world: inout World, _ line: inout Line, _ seed: UInt64) -> Bool {
    guard let held = world.workers[0].assigned.first?.attempt.operation else { return false }
    world.start(0, held)
    world.report(0)
    world.now = world.now + .seconds(1)
    world.end(0, held)
    if let at = line.entries.firstIndex(where: { $0.id == held }) {
      line.entries[at].isDone = true
    }
    let expected = line.next()
    world.report(0)
    #expect(world.workers[0].assigned.map(\.attempt.operation) == [expected].compactMap { $0 })
    return true
  }

  // MARK: - Cascade

  private struct Cascade {
    var submission = GraphSubmission(name: "cascade")
    /// By operation: whom it waits for, and how.
    var needs: [[(on: Int, policy: EdgePolicy)]] = []
    var fails: [Bool] = []

    /// S22 and S23, in order of addition, which is a topological one.
    func outcomes() -> [Outcome] {
      var outcomes: [Outcome] = []
      for at in needs.indices {
        let isMet = needs[at].allSatisfy { $0.policy.isSatisfied(by: outcomes[$0.on]) }
        outcomes.append(isMet ? (fails[at] ? .failed : .succeeded) : .skipped)
      }
      return outcomes
    }
  }

  // Every outcome, nobody skipped ever runs, and a skip shares the commit of
  // the first finish that makes it certain.
  @Test(.checks("S20", "S21", "S22", "S23"), arguments: 1000..<1120)
  func skipsCascadeByTheEdges(seed: UInt64) {
    var chance = Seeded(state: seed)
    let cascade = randomCascade(&chance)
    var world = World()
    for at in 0..<(1 + chance.below(3)) { world.join("w\(at)", cpus: Int64(1 + chance.below(3))) }
    world.ask(.submit(cascade.submission))
    world.runAll { cascade.fails[Int($0.index)] ? .failure() : .success }
    #expect(world.brokenInvariant == nil, "seed \(seed)")
    let outcomes = cascade.outcomes()
    #expect(world.endings.first?.outcomes == outcomes.map(\.rawValue), "seed \(seed)")
    let started = world.workers.flatMap(\.started).map { Int($0.operation.index) }
    #expect(Set(started) == Set(outcomes.indices.filter { outcomes[$0] != .skipped }))
    #expect(started.count == Set(started).count, "seed \(seed): something ran twice")
    expectTimelySkips(world, cascade, outcomes, seed)
  }

  private func randomCascade(_ chance: inout Seeded) -> Cascade {
    var cascade = Cascade()
    var firsts: [Int] = []
    for at in 0..<(3 + chance.below(10)) {
      let count = chance.chance(40) ? 1 + chance.below(4) : 1
      let first = cascade.needs.count
      firsts.append(first)
      cascade.submission.templates.append(noops("t\(at)", UInt32(count)))
      for _ in 0..<count {
        cascade.needs.append([])
        cascade.fails.append(chance.chance(30))
      }
      for before in 0..<at where chance.chance(30) {
        let size = Int(cascade.submission.templates[before].count)
        let policy = EdgePolicy.allCases.randomElement(using: &chance) ?? .finished
        let isSameIndex = size == count && chance.chance(50)
        cascade.submission.groupEdges.append(
          GroupEdge(
            from: UInt32(before), to: UInt32(at), policy: policy,
            match: isSameIndex ? .sameIndex : .all))
        for element in 0..<count {
          let on = isSameIndex ? element..<(element + 1) : 0..<size
          cascade.needs[first + element] += on.map { (firsts[before] + $0, policy) }
        }
      }
    }
    return cascade
  }

  private func expectTimelySkips(
    _ world: World, _ cascade: Cascade, _ outcomes: [Outcome], _ seed: UInt64
  ) {
    var finishedIn: [Int: CommitIndex] = [:]
    for event in world.events {
      guard case .operation(let id, _) = event.subject, case .isFinished = event.kind else {
        continue
      }
      finishedIn[Int(id.index)] = event.commit
    }
    for at in outcomes.indices where outcomes[at] == .skipped {
      let causes = cascade.needs[at].filter { !$0.policy.isSatisfied(by: outcomes[$0.on]) }
      #expect(
        finishedIn[at] == causes.compactMap { finishedIn[$0.on] }.min(),
        "seed \(seed): operation \(at) was skipped late")
    }
  }

  // In the list of events, too, nothing is ready before what it waits for ended.
  @Test(.checks("S114"), arguments: 2000..<2060)
  func eventsTellCausesFirst(seed: UInt64) {
    var chance = Seeded(state: seed)
    var cascade = randomCascade(&chance)
    for at in cascade.submission.templates.indices where chance.chance(40) {
      cascade.submission.templates[at].work = .nothing
      let first = cascade.submission.templates[..<at].reduce(0) { $0 + Int($1.count) }
      for element in 0..<Int(cascade.submission.templates[at].count) {
        cascade.fails[first + element] = false
      }
    }
    var world = World()
    world.join("w1", cpus: 8)
    world.ask(.submit(cascade.submission))
    world.runAll { cascade.fails[Int($0.index)] ? .failure() : .success }
    var finished: Set<Int> = []
    for event in world.events {
      guard case .operation(let id, _) = event.subject else { continue }
      let at = Int(id.index)
      switch event.kind {
      case .isReady(true) where world.kinds(1, id.index).contains(.isExecuting(true)),
        .isExecuting(true):
        #expect(
          cascade.needs[at].allSatisfy { finished.contains($0.on) },
          "seed \(seed): \(at) came before what it waits for")
      case .isFinished: finished.insert(at)
      default: break
      }
    }
    #expect(finished.count == cascade.needs.count, "seed \(seed)")
  }
}
