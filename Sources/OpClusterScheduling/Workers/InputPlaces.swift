// Chooses a worker by what an operation reads: the one that could begin it first, where what it
// lacks has to come from others, and where room has to come free. Without contents nothing is
// looked at.

import OpClusterModel

/// The bytes that an operation reads, and where they lie.
struct InputPlaces: Sendable {
  /// Of all contents, each once.
  var bytes: Int64 = 0
  /// How many of them workers have.
  var bytesByWorker: [UInt32: Int64] = [:]

  /// No more is counted: of a size that a worker has said there may be any number.
  private static let most: Int64 = 1 << 56

  mutating func noteContent(_ size: Int64, at workers: [UInt32]) {
    bytes = min(bytes + size, Self.most)
    for worker in workers {
      bytesByWorker[worker] = min((bytesByWorker[worker] ?? 0) + size, Self.most)
    }
  }

  /// The bytes that have to come to a worker.
  func missing(at worker: UInt32) -> Int64 { bytes - (bytesByWorker[worker] ?? 0) }

  /// Those that have any, the one with the most first; of equals the one that came first.
  var holders: [UInt32] {
    bytesByWorker.keys.sorted { one, other in
      let (ofOne, ofOther) = (bytesByWorker[one] ?? 0, bytesByWorker[other] ?? 0)
      return ofOne == ofOther ? one < other : ofOne > ofOther
    }
  }

  /// The seconds that the missing bytes take on a common network: 1 Gbit/s.
  func secondsToFetch(to worker: UInt32) -> Double { Double(missing(at: worker)) / 125_000_000 }
}

extension Scheduler {
  /// Where the inputs of an operation lie; nil: it reads no contents. Costs its inputs, and some
  /// holders of each.
  ///
  /// - Parameter worker: One that is looked at in any case; of the others the longest known.
  func inputPlaces(
    of id: OperationID, _ stage: Int, besides worker: UInt32 = 0
  ) -> InputPlaces? {
    let graph = id.graph.number
    guard mayNeedContents(graph, stage) else { return nil }
    let contents = contentsRead(from: inputs(of: id, stage), graph, stage)
    if contents.isEmpty { return nil }
    var places = InputPlaces()
    for content in contents {
      var some = Array(holders.workers(with: content.digest).prefix(Limits.holdersCompared))
      if worker != 0, !some.contains(worker), holders.has(worker, content.digest) {
        some.append(worker)
      }
      places.noteContent(content.size, at: some)
    }
    return places
  }

  /// The worker for the first operation of a run.
  mutating func placed(
    _ run: ReadyRun, _ wanted: Handover, among candidates: Candidates, at now: Instant
  ) -> WorkerChoice? {
    guard let usual = chooseWorker(for: wanted, among: candidates, at: now) else { return nil }
    let stage = graphs[run.graph.number].stageNumber(of: run.first)
    let first = OperationID(graph: run.graph, index: run.first)
    guard let places = inputPlaces(of: first, stage, besides: usual.worker) else { return usual }
    return choice(besides: usual, for: wanted, reading: places, among: candidates, at: now)
  }

  /// The worker that could begin first, by where the inputs lie: the usual choice, or one of those
  /// that have some of them. Each operation is placed by itself, since the next may read something
  /// else.
  ///
  /// - Parameter candidates: The workers that may take it.
  private func choice(
    besides usual: WorkerChoice, for wanted: Handover, reading places: InputPlaces,
    among candidates: Candidates, at now: Instant
  ) -> WorkerChoice {
    var best = usual
    best.count = 1
    guard var shortest = secondsToBegin(wanted, usual.worker, places, at: now), shortest > 0 else {
      return best
    }
    for number in places.holders where number != usual.worker {
      guard workers.contains(number), takesWork(number),
        includes(candidates, number), fits(number, wanted.demandClass),
        conversations[number].hasRoom(for: wanted.bytes),
        let seconds = secondsToBegin(wanted, number, places, at: now), seconds < shortest
      else { continue }
      (best.worker, shortest) = (number, seconds)
    }
    return best
  }

  private func includes(_ candidates: Candidates, _ worker: UInt32) -> Bool {
    switch candidates {
    case .all: true
    case .pool(let pool): belongs(worker, to: pool)
    case .few(let numbers): numbers.contains(worker)
    }
  }

  /// The seconds until a worker could begin an operation: until it has room, as fast as it has
  /// been, and until the inputs are there; both go on at the same time. nil: it has no room, and
  /// will have none soon.
  private func secondsToBegin(
    _ wanted: Handover, _ worker: UInt32, _ places: InputPlaces, at now: Instant
  ) -> Double? {
    let fetch = places.secondsToFetch(to: worker)
    let demand = classes[wanted.demandClass].demandClass.demand
    if free(worker).count(fitting: demand) > 0 { return fetch }
    guard room(at: worker, for: wanted.rank, at: now) > 0 else { return nil }
    let waiting = Double(workers[worker].assigned + 1)
    return max(fetch, waiting / max(conversations[worker].rate, 0.001))
  }

  /// Whether an operation may be sent ahead to a worker although much of what it reads lies with
  /// others: it would fetch what a better place has. Later, when it is ready, it is placed by that.
  func isNear(_ id: OperationID, _ stage: Int, _ worker: WorkerID) -> Bool {
    guard let places = inputPlaces(of: id, stage, besides: worker.number) else { return true }
    return places.secondsToFetch(to: worker.number) < 0.1
  }

  // MARK: - For people

  /// What a reader of `why` should know of the inputs: how much it reads, and who has most of it.
  func inputPlacesLine(_ id: OperationID, _ stage: Int) -> Explanation.Line? {
    let worker = graphs[id.graph.number].cell(id.index).worker
    guard let places = inputPlaces(of: id, stage, besides: worker), places.bytes > 0 else {
      return nil
    }
    let shown = places.holders.filter { workers.contains($0) }
    guard let first = shown.first else { return nil }
    func part(_ worker: UInt32) -> String {
      "\(workers[worker].name) \(places.bytesByWorker[worker]?.inBinaryUnits ?? "nothing")"
    }
    let whole = places.bytes.inBinaryUnits
    if worker == 0 {
      let more = shown.count > 3 ? ", and \(shown.count - 3) more have some" : ""
      return .init(
        "it reads \(whole) that others made; most of it is at \(part(first))"
          + shown.dropFirst().prefix(2).map { ", then \(part($0))" }.joined() + more)
    }
    let missing = places.missing(at: worker)
    if missing == 0 { return .init("all \(whole) that it reads are at that worker") }
    let other = shown.first { $0 != worker }.map { ", most from \(workers[$0].name)" } ?? ""
    return .init("of \(whole) that it reads, \(missing.inBinaryUnits) come from others\(other)")
  }
}

extension Int64 {
  /// Bytes as people read them, e.g. `1.2 GiB`; rounded. Of at most 2⁵⁶.
  var inBinaryUnits: String {
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB"]
    var (tenths, unit) = (self * 10, 0)
    while tenths >= 10_240, unit + 1 < units.count {
      tenths = (tenths + 512) / 1_024
      unit += 1
    }
    return unit == 0 || tenths >= 1_000
      ? "\(tenths / 10) \(units[unit])" : "\(tenths / 10).\(tenths % 10) \(units[unit])"
  }
}
