// G19: which content a key stands for. Every field of a submission is found by reflection; each one
// has a change here that is made alone, and must be another content. A field that is added to the
// model and not counted has none, and fails the test.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterScheduling

@Suite struct ContentHashTests {
  private typealias Change = @Sendable (inout GraphSubmission) -> Void

  /// One of everything: each list has a member, and nothing that may be missing is.
  private static var sample: GraphSubmission {
    var template = OperationTemplate(
      name: "a", count: 3, work: .call(OperationType(name: "t", version: 2, fingerprint: 3)))
    template.indexRuns = [IndexRun(first: 2, count: 3, step: 4)]
    template.payload = [1]
    template.elementArguments = ElementArguments(bytes: [1, 2], ends: [1, 2]) ?? .init()
    template.ownFiles = ElementArguments(bytes: [3], ends: [1]) ?? .init()
    template.qos = .utility
    template.demand = Resources(custom: [.init(name: "licence", amount: ResourceAmount(1))])
    template.requirements = [LabelRequirement(key: "os", values: ["linux"])]
    template.retry = RetryPolicy(maximum: 1, reasons: [.signal(9), .exit(1, 2)])
    template.allowedFailures = .exitStatuses([3])
    template.timeout = .seconds(1)
    template.grace = .seconds(1)
    template.notBefore = .after(.seconds(1))
    template.labels = [Label(key: "k", value: "v")]
    template.secrets = [0]
    template.inputFiles = [
      InputFile(operation: "a", file: "f", folder: "a", isByIndex: false)
    ]
    var blocks = noops("b")
    blocks.work = .blocks([OperationType(name: "u")])
    blocks.notBefore = .at(WallTime(milliseconds: 1))
    var graph = GraphSubmission(key: SubmissionKey("key"), name: "g")
    graph.templates = [template, blocks]
    graph.groupEdges = [GroupEdge(from: 0, to: 1, policy: .succeeded)]
    graph.elementEdges = ElementEdges(from: [0], to: [3], policies: [.failed])
    graph.externalEdges = [ExternalEdge(from: operation(7, 0), to: 1, policy: .succeeded)]
    graph.queues = [.named("q"), .own(ownQueue)]
    graph.maximumFailures = 1
    graph.failureScopes = [
      FailureScope(first: 0, count: 1, maximumFailures: 1, cancelsRunning: false)
    ]
    graph.labels = [Label(key: "k", value: "v")]
    graph.secrets = ["hush"]
    graph.recomputes = operation(7, 3)
    graph.origin = "/home/somebody"
    graph.continued = ContinuedGraph(graph: GraphID(7), reused: OperationRuns(operation(7, 1)))
    return graph
  }

  private static func template(
    _ change: @escaping @Sendable (inout OperationTemplate) -> Void
  ) -> Change {
    { change(&$0.templates[0]) }
  }
  private static let ownQueue = QueueSettings(
    name: "own", maximumConcurrent: 1, pool: [LabelRequirement(key: "os", values: ["linux"])])
  private static func own(
    _ change: @escaping @Sendable (inout QueueSettings) -> Void
  ) -> Change {
    {
      var settings = ownQueue
      change(&settings)
      $0.queues[1] = .own(settings)
    }
  }
  private static func type(_ type: OperationType) -> Change {
    { $0.templates[0].work = .call(type) }
  }
  private static func reused(_ runs: OperationRuns) -> Change { { $0.continued?.reused = runs } }
  private static func runs(_ graph: UInt32, _ first: UInt32, _ count: UInt32) -> OperationRuns {
    OperationRuns(graph: GraphID(graph), firsts: [first], counts: [count])
      ?? OperationRuns(graph: GraphID(0))
  }

  /// By the path that reflection gives a field.
  private static let ofGraphs: [String: Change] = [
    "name": { $0.name = "h" },
    "groupEdges.from": { $0.groupEdges[0].from = 1 },
    "groupEdges.to": { $0.groupEdges[0].to = 0 },
    "groupEdges.policy": { $0.groupEdges[0].policy = .failed },
    "groupEdges.match": { $0.groupEdges[0].match = .sameIndex },
    "elementEdges.from": { $0.elementEdges.from = [1] },
    "elementEdges.to": { $0.elementEdges.to = [2] },
    "elementEdges.policies": { $0.elementEdges.policies = [.finished] },
    "externalEdges.from.graph.number": { $0.externalEdges[0].from.graph = GraphID(8) },
    "externalEdges.from.index": { $0.externalEdges[0].from.index = 1 },
    "externalEdges.to": { $0.externalEdges[0].to = 2 },
    "externalEdges.policy": { $0.externalEdges[0].policy = .failed },
    "queues.named": { $0.queues[0] = .named("r") },
    "queues.own.name": own { $0.name = "other" },
    "queues.own.qos": own { $0.qos = .background },
    "queues.own.maximumConcurrent": own { $0.maximumConcurrent = nil },
    "queues.own.isSuspended": own { $0.isSuspended = true },
    "queues.own.pool.key": own { $0.pool[0].key = "zone" },
    "queues.own.pool.values": own { $0.pool[0].values = ["linux", "mac"] },
    "failurePolicy": { $0.failurePolicy = .stop },
    "maximumFailures": { $0.maximumFailures = nil },
    "failureScopes.first": { $0.failureScopes[0].first = 1 },
    "failureScopes.count": { $0.failureScopes[0].count = 2 },
    "failureScopes.maximumFailures": { $0.failureScopes[0].maximumFailures = 2 },
    "failureScopes.cancelsRunning": { $0.failureScopes[0].cancelsRunning = true },
    "isSuspended": { $0.isSuspended = true },
    "isDeclaredOnly": { $0.isDeclaredOnly = true },
    "allowsCycles": { $0.allowsCycles = true },
    "secrets": { $0.secrets = ["hush!"] },
    "labels.key": { $0.labels[0].key = "l" },
    "labels.value": { $0.labels[0].value = "w" },
    "recomputes.graph.number": { $0.recomputes = operation(8, 3) },
    "recomputes.index": { $0.recomputes = operation(7, 4) },
    "continued.graph.number": { $0.continued?.graph = GraphID(8) },
    "continued.reused.graph.number": reused(runs(8, 1, 1)),
    "continued.reused.firsts": reused(runs(7, 2, 1)),
    "continued.reused.counts": reused(runs(7, 1, 2)),
  ]

  private static let ofTemplates: [String: Change] = [
    "templates.name": template { $0.name = "c" },
    "templates.count": template { $0.count = 4 },
    "templates.isArray": template { $0.isArray = false },
    "templates.indexRuns.first": template { $0.indexRuns[0].first = 3 },
    "templates.indexRuns.count": template { $0.indexRuns[0].count = 4 },
    "templates.indexRuns.step": template { $0.indexRuns[0].step = 5 },
    "templates.work.call.name": type(OperationType(name: "u", version: 2, fingerprint: 3)),
    "templates.work.call.version": type(OperationType(name: "t", version: 3, fingerprint: 3)),
    "templates.work.call.fingerprint": type(OperationType(name: "t", version: 2, fingerprint: 4)),
    "templates.work.blocks.name": {
      $0.templates[1].work = .blocks([OperationType(name: "v")])
    },
    "templates.work.blocks.version": {
      $0.templates[1].work = .blocks([OperationType(name: "u", version: 2)])
    },
    "templates.work.blocks.fingerprint": {
      $0.templates[1].work = .blocks([OperationType(name: "u", fingerprint: 1)])
    },
    "templates.payload": template { $0.payload = [2] },
    "templates.elementArguments.bytes": template {
      $0.elementArguments = ElementArguments(bytes: [1, 3], ends: [1, 2]) ?? .init()
    },
    "templates.elementArguments.ends": template {
      $0.elementArguments = ElementArguments(bytes: [1, 2], ends: [2, 2]) ?? .init()
    },
    "templates.queue": template { $0.queue = 1 },
    "templates.priority": template { $0.priority = .high },
    "templates.qos": template { $0.qos = nil },
    "templates.demand.cpus.tenThousandths": template { $0.demand.cpus = .zero },
    "templates.demand.memoryBytes": template { $0.demand.memoryBytes = 1 },
    "templates.demand.gpus.tenThousandths": template { $0.demand.gpus = ResourceAmount(1) },
    "templates.demand.custom.name": template { $0.demand.custom[0].name = "seat" },
    "templates.demand.custom.amount.tenThousandths": template {
      $0.demand.custom[0].amount = ResourceAmount(2)
    },
    "templates.requirements.key": template { $0.requirements[0].key = "zone" },
    "templates.requirements.values": template { $0.requirements[0].values = ["linux", "mac"] },
    "templates.retry.maximum": template { $0.retry.maximum = 2 },
    "templates.retry.reasons.signal": template { $0.retry.reasons[0] = .signal(10) },
    "templates.retry.reasons.exit.0": template { $0.retry.reasons[1] = .exit(0, 2) },
    "templates.retry.reasons.exit.1": template { $0.retry.reasons[1] = .exit(1, 3) },
    "templates.retry.backoff.nanoseconds": template { $0.retry.backoff = .seconds(1) },
    "templates.retry.backoffPercent": template { $0.retry.backoffPercent = 100 },
    "templates.retry.avoidsWorker": template { $0.retry.avoidsWorker = true },
    "templates.retry.maximumBackoff.nanoseconds": template {
      $0.retry.maximumBackoff = .seconds(1)
    },
    "templates.maximumLosses": template { $0.maximumLosses = 0 },
    "templates.maximumParallel": template { $0.maximumParallel = 1 },
    "templates.allowedFailures.exitStatuses": template {
      $0.allowedFailures = .exitStatuses([4])
    },
    "templates.isFinal": template { $0.isFinal = true },
    "templates.isBarrier": template { $0.isBarrier = true },
    "templates.wantsInputs": template { $0.wantsInputs = true },
    "templates.timeout.nanoseconds": template { $0.timeout = .seconds(2) },
    "templates.grace.nanoseconds": template { $0.grace = .seconds(2) },
    "templates.isHeld": template { $0.isHeld = true },
    "templates.notBefore.after.nanoseconds": template { $0.notBefore = .after(.seconds(2)) },
    "templates.notBefore.at.milliseconds": {
      $0.templates[1].notBefore = .at(WallTime(milliseconds: 2))
    },
    "templates.fillsInput": template { $0.fillsInput = true },
    "templates.isExclusive": template { $0.isExclusive = true },
    "templates.secrets": template { $0.secrets = [1] },
    "templates.isReusable": template { $0.isReusable = true },
    "templates.isReproducible": template { $0.isReproducible = false },
    "templates.replicas": template { $0.replicas = 2 },
    "templates.ownFiles.bytes": template {
      $0.ownFiles = ElementArguments(bytes: [4], ends: [1]) ?? .init()
    },
    "templates.ownFiles.ends": template {
      $0.ownFiles = ElementArguments(bytes: [3], ends: [0, 1]) ?? .init()
    },
    "templates.inputFiles.operation": template { $0.inputFiles[0].operation = "b" },
    "templates.inputFiles.file": template { $0.inputFiles[0].file = "g" },
    "templates.inputFiles.folder": template { $0.inputFiles[0].folder = "b" },
    "templates.inputFiles.isByIndex": template { $0.inputFiles[0].isByIndex = true },
    "templates.labels.key": template { $0.labels[0].key = "l" },
    "templates.labels.value": template { $0.labels[0].value = "w" },
  ]

  /// Who asks, and where from, is no content.
  private static let uncounted: [String: Change] = [
    "key.text": { $0.key = SubmissionKey("another") },
    "origin": { $0.origin = "/home/somebody/else" },
  ]

  @Test(.checks("G19")) func everyFieldIsContent() throws {
    let changes = Self.ofGraphs.merging(Self.ofTemplates) { first, _ in first }
    let found = Fields.paths(in: Self.sample)
    let known = Set(changes.keys).union(Self.uncounted.keys)
    #expect(found.subtracting(known) == [], "a field has no change here: is it counted?")
    #expect(known.subtracting(found) == [], "reflection does not know this field")
    let plain = Self.sample.contentHash
    var seen: [UInt64: String] = [plain: "nothing"]
    for (path, change) in changes {
      var changed = Self.sample
      change(&changed)
      #expect(changed != Self.sample, "\(path) was not changed")
      let other = seen.updateValue(path, forKey: changed.contentHash)
      #expect(other == nil, "a change of \(path) is a change of \(other ?? "")")
    }
    for (path, change) in Self.uncounted {
      var changed = Self.sample
      change(&changed)
      #expect(changed != Self.sample && changed.contentHash == plain, "\(path)")
    }
  }

  /// Every case of what is one of several is told from the others.
  @Test(.checks("G19")) func everyCaseIsContent() {
    let works: [Work] = [.nothing, .command, .call(OperationType(name: "")), .blocks([])]
    let moments: [NotBefore?] = [nil, .after(.zero), .at(.unknown)]
    let reasons: [[RetryPolicy.Reason]] = [
      [], [.any], [.failed], [.timeout], [.outOfMemory], [.lost], [.anySignal], [.signal(0)],
      [.exit(0, 0)],
    ]
    let allowed: [AllowedFailures] = [.none, .all, .exitStatuses([])]
    var seen: Set<UInt64> = []
    func expectNew(_ changes: [Change]) {
      var all: Set<UInt64> = []
      for change in changes {
        var changed = Self.sample
        change(&changed)
        all.insert(changed.contentHash)
      }
      #expect(all.count == changes.count)
      seen.formUnion(all)
    }
    expectNew(works.map { work in { $0.templates[0].work = work } })
    expectNew(moments.map { moment in { $0.templates[0].notBefore = moment } })
    expectNew(reasons.map { list in { $0.templates[0].retry.reasons = list } })
    expectNew(allowed.map { value in { $0.templates[0].allowedFailures = value } })
    expectNew(FailurePolicy.allCases.map { policy in { $0.failurePolicy = policy } })
    expectNew([{ $0.maximumFailures = nil }, { $0.maximumFailures = .max }])
    expectNew([{ $0.queues[0] = .named("x") }, { $0.queues[0] = .own(QueueSettings(name: "x")) }])
    #expect(seen.count > 20)
  }

  /// What stands at the end of one field never counts as the beginning of the next.
  @Test func borders() {
    func hash(_ change: Change) -> UInt64 {
      var graph = GraphSubmission(name: "")
      change(&graph)
      return graph.contentHash
    }
    @Sendable func withPayload(_ bytes: [UInt8]) -> OperationTemplate {
      var template = noops("a")
      template.payload = bytes
      return template
    }
    let pairs: [(Change, Change)] = [
      (
        { $0.labels = [Label(key: "ab", value: "c")] },
        { $0.labels = [Label(key: "a", value: "bc")] }
      ),
      (
        { $0.templates = [noops("a"), noops("b")] },
        { $0.templates = [noops("ab")] }
      ),
      (
        { $0.elementEdges = ElementEdges(from: [1], to: [], policies: []) },
        { $0.elementEdges = ElementEdges(from: [], to: [1], policies: []) }
      ),
      (
        { $0.isSuspended = true },
        { $0.isDeclaredOnly = true }
      ),
      // The highest bit of two neighbours: a product with an odd number hands it on as it is.
      (
        { $0.templates = [withPayload([UInt8](repeating: 0, count: 16))] },
        { $0.templates = [withPayload([128, 0, 0, 0, 0, 0, 0, 0, 128, 0, 0, 0, 0, 0, 0, 0])] }
      ),
    ]
    for (one, other) in pairs { #expect(hash(one) != hash(other)) }
  }

  /// It is written into journals: the same in every release that does not say otherwise.
  @Test func itIsTheSameInEveryProcess() {
    #expect(GraphSubmission(name: "g").contentHash == 0xEA34_94B2_8FF1_BD1F)
    #expect(GraphSubmission(name: "g").earlierContentHash == 0xC7D3_254C_97B6_714C)
  }

  // The digest of FIPS 180-4, over one block and two.
  @Test(.checks("G19")) func digestsOfSecrets() {
    func hex(_ text: String) -> String {
      SecretDigest.words(of: text).map { word in
        let digits = String(word, radix: 16)
        return String(repeating: "0", count: 8 - digits.count) + digits
      }.joined()
    }
    #expect(hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    #expect(hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    #expect(
      hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")
        == "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1")
  }

  // A key of before the upgrade is the same, and one whose earlier form is another is not.
  @Test(.checks("G19")) func keysOfEarlierReleases() {
    var world = World()
    let graph = Self.keyed(Self.held)
    let earlier = Record.submitted(
      GraphID(1), graph, fingerprint: graph.earlierContentHash, at: WallTime(milliseconds: 5))
    world.scheduler.replay([earlier], commit: CommitIndex(world.scheduler.lastCommit.number + 1))
    #expect(world.ask(.submit(graph)) == .accepted(GraphID(1), operations: 1, repeated: true))
    var other = graph
    other.templates[0].name = "other"
    guard case .refused(let refusal)? = world.ask(.submit(other)) else {
      Issue.record("another content was taken for the same")
      return
    }
    #expect(refusal.code == .conflict)
  }

  // Another `require`, `gpus` or `retry` under the same key.
  @Test(.checks("G19")) func fieldsThatWereForgotten() {
    var world = World()
    let graph = Self.keyed(Self.held)
    world.ask(.submit(graph))
    #expect(world.ask(.submit(graph)) == .accepted(GraphID(1), operations: 1, repeated: true))
    let changes: [(inout OperationTemplate) -> Void] = [
      { $0.requirements = [LabelRequirement(key: "gpu", values: ["a100"])] },
      { $0.demand.gpus = ResourceAmount(1) },
      { $0.retry.maximum = 5 },
    ]
    for change in changes {
      var other = graph
      change(&other.templates[0])
      guard case .refused(let refusal)? = world.ask(.submit(other)) else {
        Issue.record("another content was taken for the same")
        continue
      }
      #expect(refusal.code == .conflict)
    }
  }

  private static var held: GraphSubmission {
    var graph = GraphSubmission(name: "g")
    graph.templates = [noops("a")]
    graph.templates[0].isHeld = true
    return graph
  }
  private static func keyed(_ graph: GraphSubmission) -> GraphSubmission {
    var graph = graph
    graph.key = SubmissionKey("k")
    return graph
  }
}

/// Where the values stand in a thing, as reflection shows it: fields, cases, members of lists under
/// the name of the list.
private enum Fields {
  static func paths(in thing: Any) -> Set<String> {
    let all = Set(ends(in: thing))
    // Where one member has more in it than another, its parts stand for both.
    return all.filter { path in !all.contains { $0.hasPrefix(path + ".") } }
  }

  private static func ends(in thing: Any) -> [String] {
    let mirror = Mirror(reflecting: thing)
    switch mirror.displayStyle {
    case .collection, .optional:
      return mirror.children.isEmpty ? [""] : mirror.children.flatMap { ends(in: $0.value) }
    case .tuple:
      return mirror.children.enumerated().flatMap { at, child in
        ends(in: child.value).map { join("\(at)", $0) }
      }
    default:
      if thing is String || mirror.children.isEmpty { return [""] }
      return mirror.children.flatMap { child in
        ends(in: child.value).map { join(child.label ?? "", $0) }
      }
    }
  }

  private static func join(_ head: String, _ tail: String) -> String {
    tail.isEmpty ? head : head + "." + tail
  }
}
