// The lines of ready operations, as facts fill them: entering, and what no longer stands in them.

import OpClusterModel

extension ClusterState {
  /// Puts a run in line.
  mutating func enterLine(_ run: ReadyRun, _ queue: UInt32, demandClass: Int, level: Int) {
    enterLine(CollectionOfOne(run), queue, demandClass: demandClass, level: level)
  }

  /// Puts runs of one class into a queue's line, the lowest place first.
  mutating func enterLine(
    _ runs: some Collection<ReadyRun>, _ queue: UInt32, demandClass: Int, level: Int
  ) {
    let wasDue = queues[queue].line.isDueForSweep
    queues[queue].line.add(runs, of: lineClass(demandClass), level: level)
    if !wasDue, queues[queue].line.isDueForSweep { crowdedQueues.append(queue) }
  }

  /// Removes obsolete runs from long lines. Only between turns: inside of one, a run may stand in
  /// line a moment before it is ready.
  mutating func sweepLines() {
    if crowdedQueues.isEmpty { return }
    for queue in crowdedQueues where queues.contains(queue) {
      guard queues[queue].line.isDueForSweep else { continue }
      var line = Line()
      swap(&line, &queues[queue].line)
      line.sweepIfWorthIt { run, level in
        guard graphs.contains(run.graph.number) else { return .gone }
        let stage = graphs[run.graph.number].stageNumber(of: run.first)
        let skip = skip(run, level, stage)
        return skip == run.count ? .gone : .stands(skip: skip, valid: 1)
      }
      swap(&line, &queues[queue].line)
    }
    crowdedQueues.removeAll(keepingCapacity: true)
  }

  /// The number of first operations of a run that do not stand in line. A page without own cells
  /// costs one look.
  func skip(_ run: ReadyRun, _ level: Int, _ stage: Int) -> UInt32 {
    var skip: UInt32 = 0
    let end = run.first + run.count
    while skip < run.count, !standsInLine(run, skip, level, stage) {
      skip = graphs[run.graph.number].cells.lookEnd(from: run.first + skip, before: end) - run.first
    }
    return skip
  }

  func parallelRoom(_ graph: UInt32, _ stage: Int) -> UInt32 {
    let bound = graphs[graph].stages[stage].template.maximumParallel
    return bound == 0 ? .max : bound - min(bound, graphs[graph].stages[stage].inFlight)
  }

  func standsInLine(
    _ run: ReadyRun, _ offset: UInt32, _ level: Int, _ stage: Int
  ) -> Bool {
    let graph = run.graph.number
    let index = run.first + offset
    guard let cell = graphs[graph].cells.stored(index) else {
      return graphs[graph].stages[stage].pristine.phase == .ready
    }
    guard cell.isInLine else { return false }
    let id = OperationID(graph: run.graph, index: index)
    if level == Line.barrierLevel, !isOpenable(barrier: id) { return false }
    if !cell.flags.contains(.changed) { return true }
    let priority = graphs[graph].priority(of: index, stage: stage)
    return graphs[graph].place(of: index) == run.place + UInt64(offset)
      && (level == Line.barrierLevel || Line.level(of: priority) == level)
  }

  /// The number of first operations of a run that stand in line, if the first `known` do. A page
  /// without own cells costs one look.
  func standing(
    _ run: ReadyRun, _ level: Int, _ stage: Int, from known: UInt32, atMost most: UInt32,
    _ looks: inout Int
  ) -> UInt32 {
    let graph = run.graph.number
    var valid = known
    while valid < most {
      looks += 1
      guard standsInLine(run, valid, level, stage) else { break }
      let next = graphs[graph].cells.lookEnd(
        from: run.first + valid, before: run.first + run.count)
      valid = min(most, next - run.first)
    }
    return valid
  }

  /// The class in which an operation stands in line: its stage's own class if that exists and no
  /// worker failed to start this operation, else the common one.
  func classInLine(_ graph: UInt32, _ stage: Int, _ index: UInt32) -> Int {
    guard let own = graphs[graph].stages[stage].ownClass, graphs[graph].unable[index] == nil else {
      return graphs[graph].demandClass(of: stage)
    }
    return own
  }

  /// The properties of a class that a line needs.
  func lineClass(_ number: Int) -> LineClass {
    let (serial, kind) = (classes[number].serial, classes[number].kind)
    let demand = classes[number].demandClass.demand
    return LineClass(
      number: number, serial: serial,
      amounts: DemandAmounts(
        cpus: demand.cpus.tenThousandths, memory: demand.memoryBytes,
        gpus: demand.gpus.tenThousandths, kinds: classes.bit(ofKind: kind)))
  }

  // MARK: - Classes come and go

  /// The number of a demand class; registers more stages for it.
  mutating func use(_ demandClass: DemandClass, stages: Int) -> Int {
    let (number, newKind) = classes.use(demandClass, stages: stages)
    if let newKind { newKinds.append(newKind) }
    return number
  }

  /// Releases what the stages of a graph that leaves use; of many, later turns do (`RetiredParts`).
  mutating func releaseClasses(of graph: Graph) {
    var used = graph.demandClasses
    if used.count <= RetiredParts.classesReleasedPerTurn {
      used.takeLast(used.count) { classes.release($0, stages: $1) }
    }
    for stage in graph.stagesApart {
      if let own = graph.stages[stage].ownClass { classes.release(own, stages: 1) }
    }
  }
}
