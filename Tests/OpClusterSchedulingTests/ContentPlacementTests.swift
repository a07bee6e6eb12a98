// Files of submitters, and where operations begin by what they read.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite(.checks("S137", "S140")) struct ContentPlacementTests {
  // MARK: - Files of the submitter

  private static func named(_ contents: StoredContent...) -> [UInt8] {
    var bytes: [UInt8] = []
    for content in contents {
      bytes += [5 << 3 | 2, 39, 1 << 3 | 2, 32] + content.digest.bytes
      bytes += [2 << 3, UInt8(content.size), 3 << 3 | 2, 1, UInt8(ascii: "f")]
    }
    return bytes
  }

  /// Of many files of many operations a reader is told of those that it reads. The others count for
  /// no limit.
  @Test func onlyWhatIsRead() throws {
    var make = noops("make", 40)
    make.isArray = true
    var read = noops("read")
    read.work = .command
    read.wantsInputs = true
    read.isHeld = true
    read.inputFiles = [InputFile(operation: "make", file: "f", folder: "m", isByIndex: true)]
    var graph = GraphSubmission(name: "g")
    // It waits for the same ones, and reads no file of theirs.
    var other = read
    other.name = "other"
    other.inputFiles = []
    graph.templates = [make, read, other]
    graph.groupEdges = ([1, 2] as [UInt32]).map { GroupEdge(from: 0, to: $0, policy: .succeeded) }
    var world = ContentTests.world(["a"])
    world.ask(.submit(graph))
    let content = try ContentTests.content(1)
    var others = Self.named(try ContentTests.content(2))
    others[others.count - 1] = UInt8(ascii: "g")
    var result = AttemptResult.success
    result.output = Array([[UInt8]](repeating: others, count: 900).joined()) + Self.named(content)
    #expect(result.output.count * 40 > Limits.inputBytes)
    world.workers[0].held = [content, try ContentTests.content(2)]
    world.report(0)
    world.runAll { _ in result }
    world.ask(.hold(.operations([operation(1, 40)]), false))
    let inputs = world.workers[0].assigned.flatMap(\.inputs)
    #expect(inputs.count == 40)
    #expect(inputs.allSatisfy { $0.output == Self.named(content) })
    world.ask(.hold(.operations([operation(1, 41)]), false))
    let last = try #require(world.workers[0].assigned.last)
    #expect(last.attempt.operation == operation(1, 41), "an output without its files is one")
    #expect(last.inputs.count == 40 && last.inputs.allSatisfy { $0.output == others })
    #expect(world.brokenInvariant == nil)
  }

  /// `read` of the submitter's files: the same for all, or each its own.
  private static func reading(_ files: [[UInt8]], _ count: UInt32) -> GraphSubmission {
    var read = noops("read", count)
    read.isArray = true
    read.work = .command
    read.wantsInputs = true
    for file in files { read.ownFiles.append(file) }
    read.inputFiles = [.own("f")]
    var graph = GraphSubmission(name: "g")
    graph.templates = [read]
    return graph
  }

  private static func place(
    _ contents: [StoredContent], avoided: [String] = [], _ world: inout World
  ) -> [ContentHolders]? {
    guard
      case .placed(let places)? = world.ask(
        .place(contents, avoided: avoided, writer: ContentAsker(key: [7])))
    else { return nil }
    return places
  }

  /// They stay for the life of the graph, and begin where they lie.
  @Test(arguments: [false, true]) func ownFilesStayAndArePlaced(_ isEachItsOwn: Bool) throws {
    var world = ContentTests.world(["a", "b"])
    let contents = [try ContentTests.content(1), try ContentTests.content(2)]
    for at in 0...1 {
      world.workers[at].held = [contents[at]]
      world.report(at)
      #expect(world.workers[at].released == [contents[at].digest], "nobody reads it yet")
    }
    let files =
      isEachItsOwn ? contents.map { Self.named($0) } : [Self.named(contents[0], contents[1])]
    world.ask(.submit(Self.reading(files, 2)))
    for at in 0...1 { #expect(world.workers[at].retained == [contents[at].digest]) }
    let assigned = world.workers.map { $0.assigned.map(\.attempt.operation.index) }
    if isEachItsOwn { #expect(assigned == [[0], [1]]) }
    let inputs = world.workers.flatMap(\.assigned).flatMap(\.inputs)
    #expect(inputs.map(\.name) == [InputFile.submitter, InputFile.submitter])
    let pins = world.scheduler.state.pins
    #expect(world.replayed().state.pins.isSame(as: pins))
    var restored = Scheduler()
    restored.restore(world.scheduler.snapshot(), commit: world.scheduler.lastCommit)
    #expect(restored.state.pins.isSame(as: pins))
    world.runAll()
    #expect(world.scheduler.graphs.numbers.isEmpty && world.scheduler.state.pins.isEmpty)
    for at in 0...1 { #expect(world.workers[at].released.count == 2) }
    #expect(world.brokenInvariant == nil)
  }

  @Test func ownFilesAreForAllOrForEach() throws {
    var world = ContentTests.world(["a"])
    let file = Self.named(try ContentTests.content(1))
    let reply = world.ask(.submit(Self.reading([file, file], 3)))
    guard case .refused(let refusal)? = reply else {
      Issue.record("two entries for three elements")
      return
    }
    #expect(refusal.code == .badRequest)
  }

  /// Each content goes to the worker with the least so far; what somebody has goes nowhere.
  @Test func filesAreSpreadOverTheStores() throws {
    var world = ContentTests.world(["a", "b"])
    ContentTests.join("c", hasStore: false, &world)
    let known = try ContentTests.content(9)
    world.workers[0].held = [known]
    world.report(0)
    let contents = [
      try ContentTests.content(1, size: 100), try ContentTests.content(2, size: 60),
      try ContentTests.content(3, size: 60),
    ]
    let places = Self.place(contents + [known], &world)
    #expect(places?.map(\.digest) == contents.map(\.digest))
    #expect(places?.map { $0.sources.map(\.worker) } == [["a"], ["b"], ["b"]])
    #expect(
      world.workers[0].grants == [
        GrantOrder(digest: contents[0].digest, reader: [7], mayWrite: true)
      ])
    let others = Self.place(contents, avoided: ["b"], &world)
    #expect(others?.allSatisfy { $0.sources.map(\.worker) == ["a"] } == true)
    guard
      case .refused(let refusal)? = world.ask(
        .place(contents, avoided: ["a", "b"], writer: ContentAsker()))
    else {
      Issue.record("c has no store")
      return
    }
    #expect(refusal.code == .workerUnavailable)
    #expect(Self.place([known], avoided: ["a", "b"], &world) == [])
  }

  /// Files wait for workers as operations do, but not for stores that no worker has.
  @Test(.checks("S148")) func filesWaitForWorkers() throws {
    let content = try ContentTests.content(1)
    func refusal(_ avoided: [String] = [], _ world: inout World) -> Refusal? {
      let asker = ContentAsker(key: [7])
      let reply = world.ask(.place([content], avoided: avoided, writer: asker))
      guard case .refused(let refusal) = reply else { return nil }
      return refusal
    }
    var world = ContentTests.world([])
    #expect(world.scheduler.storesWantedUntil <= world.now)
    let first = refusal([], &world)
    #expect(first?.code == .workerUnavailable && first?.retryAfter == Limits.storeWait)
    #expect(world.scheduler.storesWantedUntil == world.now + Limits.storesAreWanted)
    // A worker without a store brings none.
    ContentTests.join("plain", hasStore: false, &world)
    let second = refusal([], &world)
    #expect(second?.code == .workerUnavailable && second?.retryAfter == nil)
    ContentTests.join("a", &world)
    #expect(refusal([], &world) == nil)
    #expect(world.scheduler.storesWantedUntil <= world.now)
    // What the only store does not take is not to be waited for; what a silent one has is.
    #expect(refusal(["a"], &world)?.retryAfter == nil)
    world.step { scheduler, _ in scheduler.conversations[2].isSuspect = true }
    #expect(refusal([], &world)?.retryAfter == Limits.storeWait)
    #expect(world.brokenInvariant == nil)
  }

  /// A request looks at as many stores as it needs, behind those of the last one.
  @Test func storesAreTakenInRotation() throws {
    var world = ContentTests.world((0..<100).map { "w\($0)" })
    world.invariantChecks = .never
    var used: [String] = []
    for number in 0..<102 as Range<Int> {
      let bytes = (0..<32).map { UInt8(truncatingIfNeeded: number >> ($0 % 4 * 8)) }
      let content = StoredContent(digest: try #require(ContentDigest(bytes: bytes)), size: 5)
      let before = world.scheduler.looks
      used += Self.place([content], &world)?.flatMap { $0.sources.map(\.worker) } ?? []
      #expect(world.scheduler.looks - before <= 8)
    }
    #expect(used == (0..<100).map { "w\($0)" } + ["w0", "w1"])
  }

  /// What was left for a submission that has not come stays for a while, and leaves after it; so
  /// does what somebody had already.
  @Test func whatWasPlacedStaysForItsSubmission() throws {
    var world = ContentTests.world(["a"])
    let (new, known) = (try ContentTests.content(1), try ContentTests.content(2))
    world.workers[0].held = [known]
    world.report(0)
    #expect(world.workers[0].released == [known.digest])
    #expect(Self.place([new, known], &world)?.map(\.digest) == [new.digest])
    #expect(world.workers[0].retained == [known.digest])
    world.workers[0].held = [new]
    world.report(0)
    #expect(world.workers[0].released == [known.digest], "neither may leave")
    world.ask(.submit(Self.reading([Self.named(new)], 1)))
    world.runAll()
    #expect(world.workers[0].released == [known.digest], "others may come")
    for _ in 0..<61 {
      world.tick(after: .seconds(10))
      world.report(0)
    }
    #expect(world.workers[0].released.count == 3)
    #expect(Set(world.workers[0].released) == [known.digest, new.digest])
    #expect(world.brokenInvariant == nil)
    var placed = PlacedContents(limit: 1)
    #expect(Limits.placedContents == 1_000_000 && Limits.writeGrantsPerClient == 100_000)
    let isKept = [
      placed.keep(new, until: .zero), placed.keep(known, until: .zero),
      placed.keep(new, until: .zero + .seconds(1)),
    ]
    #expect(isKept == [true, false, true])
    #expect(placed.takeDue(at: .zero) == [])
    #expect(placed.takeDue(at: .zero + .seconds(1)) == [new.digest] && placed.count == 0)
  }

  /// What was left with a worker that drains before its submission has come is handed over, or is
  /// left with another one.
  @Test(.checks("S148")) func whatWasPlacedIsHandedOver() throws {
    var world = ContentTests.world(["a", "b"])
    let content = try ContentTests.content(1)
    #expect(Self.place([content], &world)?.first?.sources.first?.worker == "a")
    world.workers[0].held = [content]
    world.report(0)
    world.ask(.drainWorker("a"))
    #expect(!world.workers[0].wasToldToDrain && world.workers[1].copies == [content])
    world.workers[1].held = [content]
    world.report(1)
    #expect(world.workers[0].wasToldToDrain)
    #expect(world.workers[1].released.isEmpty && world.brokenInvariant == nil)
    // It has one that nobody has left for a submission.
    let other = try ContentTests.content(2)
    world.workers[0].held = [other]
    world.report(0)
    #expect(Self.place([other], &world)?.first?.sources.first?.worker == "b")
  }

  /// Its time to wait for the submission is over: nobody stays for it any more.
  @Test(.checks("S148")) func whatWasPlacedInVain() throws {
    var world = ContentTests.world(["a", "b"])
    let content = try ContentTests.content(1)
    _ = Self.place([content], &world)
    world.workers[0].held = [content]
    world.report(0)
    for _ in 0..<56 {
      world.tick(after: .seconds(10))
      for at in world.workers.indices { world.report(at) }
    }
    world.ask(.drainWorker("a"))
    #expect(!world.workers[0].wasToldToDrain && world.workers[1].copies == [content])
    for _ in 0..<6 {
      world.tick(after: .seconds(10))
      for at in world.workers.indices { world.report(at) }
    }
    #expect(world.workers[0].wasToldToDrain && world.scheduler.contentCopies.isEmpty)
    #expect(world.brokenInvariant == nil)
  }

  /// Own files do not make it read what its dependencies left.
  @Test func ownFilesAloneAreNoInputs() throws {
    var world = ContentTests.world(["a"])
    var graph = Self.reading([Self.named(try ContentTests.content(1))], 1)
    graph.templates[0].wantsInputs = false
    graph.templates.insert(noops("first"), at: 0)
    graph.groupEdges = [GroupEdge(from: 0, to: 1, policy: .succeeded)]
    world.workers[0].held = [try ContentTests.content(1)]
    world.report(0)
    world.ask(.submit(graph))
    world.start(0, operation(1, 0))
    world.end(0, operation(1, 0), ContentTests.result(try ContentTests.content(2)))
    world.report(0)
    let inputs = world.workers[0].assigned.flatMap(\.inputs)
    #expect(inputs.map(\.name) == [InputFile.submitter])
    #expect(world.brokenInvariant == nil)
  }

  /// Of many holders some are compared, and the usual choice in any case.
  @Test func manyHoldersCostLittle() throws {
    let count = Limits.holdersCompared + 8
    var world = ContentTests.world((0..<count).map { "w\($0)" })
    let content = try ContentTests.content(1)
    for at in 0..<count {
      world.workers[at].held = [content]
      world.report(at)
    }
    world.ask(.submit(Self.reading([Self.named(content)], UInt32(count) * 2)))
    #expect(world.workers.allSatisfy { !$0.assigned.isEmpty }, "each has it")
    let places = world.scheduler.inputPlaces(of: operation(1, 0), 0)
    #expect(places?.bytesByWorker.count == Limits.holdersCompared)
    #expect(world.brokenInvariant == nil)
  }

  // MARK: - Where operations begin

  /// `make` at a worker, and `read` anywhere, held until the test lets it go.
  private static func placed(
    _ sizes: [(worker: Int, content: StoredContent)], in world: inout World, readers: UInt32 = 1
  ) {
    var graph = GraphSubmission(name: "g")
    for (number, made) in sizes.enumerated() {
      var make = noops("make\(number)")
      make.requirements = [
        LabelRequirement(key: "worker", values: [world.workers[made.worker].name])
      ]
      graph.templates.append(make)
      graph.groupEdges.append(
        GroupEdge(from: UInt32(number), to: UInt32(sizes.count), policy: .succeeded))
    }
    var read = noops("read", readers)
    read.isArray = true
    read.wantsInputs = true
    read.isHeld = true
    graph.templates.append(read)
    world.ask(.submit(graph))
    for (number, made) in sizes.enumerated() {
      world.start(made.worker, operation(1, UInt32(number)))
      // A worker that takes long is given nothing beyond its capacity.
      world.now = world.now + .seconds(1)
      world.end(made.worker, operation(1, UInt32(number)), ContentTests.result(made.content))
      world.workers[made.worker].held.append(made.content)
      world.report(made.worker)
    }
  }

  private static func letGo(_ world: inout World) {
    var reads = Selection.graph(GraphID(1))
    reads.operation = "read"
    world.ask(.hold(.selection(reads), false))
  }

  private static func explanation(_ id: OperationID, _ world: inout World) -> [String] {
    guard case .explanations(let rows, _)? = world.ask(.explain(.graph(id.graph))) else {
      return []
    }
    return rows.filter { $0.operation == id }.flatMap(\.lines).map(\.text)
  }

  @Test func beginsWhereMostOfItLies() throws {
    var world = ContentTests.world(["a", "b", "c"])
    Self.placed(
      [
        (1, try ContentTests.content(1, size: 100)), (2, try ContentTests.content(2, size: 60)),
        (2, try ContentTests.content(3, size: 50)),
      ], in: &world)
    let lines = Self.explanation(operation(1, 3), &world)
    #expect(lines.contains("it is held"), "\(lines)")
    Self.letGo(&world)
    #expect(world.workers.map(\.assigned.count) == [0, 0, 1])
    let told = Self.explanation(operation(1, 3), &world)
    #expect(
      told.contains("of 210 bytes that it reads, 100 bytes come from others, most from b"),
      "\(told)")
    #expect(world.brokenInvariant == nil)
  }

  /// Each of an array; where it lies while there is room, elsewhere before waiting.
  @Test func doesNotWaitForThePlaceOfItsInputs() throws {
    var world = ContentTests.world(["a", "b"])
    Self.placed([(1, try ContentTests.content(1))], in: &world, readers: 5)
    Self.letGo(&world)
    // Each has two processors.
    #expect(world.workers[1].assigned.map(\.attempt.operation.index) == [1, 2])
    #expect(world.workers[0].assigned.map(\.attempt.operation.index) == [3, 4])
    let waiting = Self.explanation(operation(1, 5), &world)
    #expect(
      waiting.contains("it reads 100 bytes that others made; most of it is at b 100 bytes"),
      "\(waiting)")
    world.runAll()
    #expect(world.scheduler.graphs.numbers.isEmpty)
    #expect(world.brokenInvariant == nil)
  }

  /// A worker that cannot have the operation is not chosen, whatever it has.
  @Test func theRulesOfPlacementHold() throws {
    var world = ContentTests.world(["a", "b"])
    Self.placed([(1, try ContentTests.content(1))], in: &world)
    world.ask(.drainWorker("b"))
    Self.letGo(&world)
    #expect(world.workers.map(\.assigned.count) == [1, 0])
    #expect(world.brokenInvariant == nil)
  }

  /// Of a hundred graphs whose inputs lie on one of eight workers, all start there.
  @Test(arguments: [1, 8]) func graphsStartWhereTheirInputsLie(_ workers: Int) throws {
    for place in 0..<workers {
      var world = ContentTests.world((0..<workers).map { "w\($0)" })
      Self.placed([(place, try ContentTests.content(1))], in: &world)
      Self.letGo(&world)
      #expect(world.workers[place].assigned.count == 1)
    }
  }

  @Test func sizesAreAddedUpWithoutATrap() throws {
    var places = InputPlaces()
    for _ in 0..<10_000 { places.noteContent(Limits.contentBytes, at: [1]) }
    #expect(places.bytes == 1 << 56 && places.missing(at: 1) == 0)
    #expect(places.bytes.inBinaryUnits == "65536 TiB")
    let texts = [Int64(0), 1_023, 1_024, 1_536, 102_400, 1 << 30].map(\.inBinaryUnits)
    #expect(texts == ["0 bytes", "1023 bytes", "1.0 KiB", "1.5 KiB", "100 KiB", "1.0 GiB"])
  }
}
