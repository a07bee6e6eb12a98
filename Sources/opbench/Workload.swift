// The workloads by name: what each measures, and how a series of it is called. `Measurements` has
// the ways of measuring; Workloads.md of OpCluster.docc says what each is for.

enum Workload: String, CaseIterable {
  case independent = "W1"
  case chain = "W2"
  case layers = "W3"
  case processes = "W4"
  case fan = "W5"
  case memory = "W6"
  case cancellation = "W7"
  case durability = "W8"
  case submissions = "W9"
  case events = "W10"
  case crowd = "W11"
  case commands = "W13"
  case protection = "W14"
  case millions = "W15"
  case racks = "W16"
  case largeFile = "W17"
  case smallFiles = "W18"
  case shuffle = "W19"

  /// Those that are run unless some are named: all that take minutes and not longer.
  static let usual = allCases.filter {
    ![.millions, .racks, .largeFile, .smallFiles, .shuffle].contains($0)
  }

  var title: String {
    switch self {
    case .independent: "100,000 independent no-ops, per second"
    case .chain: "chain of 1,000, microseconds per hop"
    case .layers: "layers of 100, 100 deep, 3 edges each, per second"
    case .processes: "2,000 x /bin/true, per second"
    case .fan: "1 -> 10,000 -> 1, seconds"
    case .memory: "coordinator memory, bytes per waiting operation"
    case .cancellation: "cancelling 10,000 queued, milliseconds until all are known to have ended"
    case .durability: "submitting an array of 100,000, milliseconds until durable"
    case .submissions: "10,000 submissions of one operation, per second"
    case .events: "events of the past, per second"
    case .crowd: "1,000 workers"
    case .largeFile: "a file of 1 GiB from worker to worker"
    case .smallFiles: "10,000 files of 100 KiB from worker to worker"
    case .shuffle: "100 x 100 pieces from worker to worker, seconds"
    case .racks: "900 machines behind three relays"
    case .commands: "100,000 x /bin/true, coordinator's processor, microseconds each"
    case .protection: "100,000 independent no-ops, per second"
    case .millions: "10,000,000 no-ops through one coordinator"
    }
  }

  /// The results of one fresh cluster, by series. In the unit of `title`. An error of any operation
  /// ends the run without a figure.
  func measureCluster() async throws -> [(String, Double)] {
    switch self {
    case .independent:
      return [("", 100_000 / (try await Measurements.run(Graphs.independent(100_000))))]
    case .chain:
      let local = try await Measurements.run(Graphs.chain(1_000))
      let remote = try await Measurements.run(Graphs.zigzag(1_000), labelled: true)
      return [
        ("locally unblocked", local * 1e6 / 1_000), ("across two workers", remote * 1e6 / 1_000),
      ]
    case .layers:
      let seconds = try await Measurements.run(Graphs.layers(width: 100, depth: 100))
      return [("", 10_000 / seconds)]
    case .processes:
      return [("", 2_000 / (try await Measurements.run(Graphs.commands(2_000))))]
    case .fan:
      return [("", try await Measurements.run(Graphs.fan(10_000)))]
    case .memory:
      let edges = try await Measurements.bytesPerOperation(Graphs.waitingWithEdges(1_000_000))
      let array = try await Measurements.bytesPerOperation(Graphs.waitingArray(1_000_000))
      return [("3 edges each", edges), ("array element", array)]
    case .cancellation:
      return [("", try await Measurements.cancellation(10_000) * 1_000)]
    case .durability:
      return [("", try await Measurements.durability(100_000) * 1_000)]
    case .submissions:
      return try await Measurements.submissions(10_000)
    case .events:
      return [
        ("to one subscriber", try await Measurements.events(of: 100_000, to: 1)),
        ("to 100 together", try await Measurements.events(of: 10_000, to: 100)),
      ]
    case .largeFile: return try await Measurements.transfer(files: 1, of: 1 << 30)
    case .smallFiles: return try await Measurements.transfer(files: 10_000, of: 100 << 10)
    case .shuffle:
      return [
        ("files, 1 MiB in all", try await Measurements.shuffle(width: 100, pieceBytes: 105)),
        ("files, 1 GiB in all", try await Measurements.shuffle(width: 100, pieceBytes: 107_375)),
        ("values, 1 MiB in all", try await Measurements.valueShuffle(width: 100, pieceBytes: 105)),
        (
          "values, 1 GiB in all",
          try await Measurements.valueShuffle(width: 100, pieceBytes: 107_375)
        ),
      ]
    case .racks:
      return try await Measurements.racks(3, of: 300, operations: 200_000)
    case .crowd:
      return try await Measurements.crowd(of: 1_000, operations: 1_000_000)
    case .commands:
      return try await Measurements.coordinatorPerCommand(100_000)
    case .protection:
      let graph = Graphs.independent(100_000)
      return [
        ("encrypted and durable", 100_000 / (try await Measurements.run(graph, on: .encrypted))),
        ("durable", 100_000 / (try await Measurements.run(graph, on: .usual))),
        ("neither", 100_000 / (try await Measurements.run(graph, on: .volatile))),
      ]
    case .millions:
      return try await Measurements.manyMillions(10)
    }
  }
}
