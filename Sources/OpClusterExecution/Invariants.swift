// The invariants after every event. Checked by tests and by the simulated world.

import OpClusterModel

extension ExecutionCore {
  /// Returns the violated invariants in words; empty if there are none. Checks the whole state.
  public func checkInvariants() -> [String] {
    var problems: [String] = []
    func demand(_ condition: Bool, _ problem: @autoclosure () -> String) {
      if !condition { problems.append(problem()) }
    }
    var (assignedFound, liveFound, readyFound, edgesFound) = (0, 0, 0, 0)
    var room = available
    for slot in attempts.used {
      let attempt = attempts[slot]
      if attempt.state.isAssigned { assignedFound += 1 }
      if attempt.state == .ready { readyFound += 1 }
      if attempt.state.isLive {
        liveFound += 1
        room.giveBack(demandOf(attempt.template))
      }
      demand(
        operations.graphs[Int(attempt.graph)][attempt.id.operation.index].slot == slot,
        "slot of \(attempt.id) is not the operation's")
      demand(
        attempt.state != .absent || attempt.firstDependent.exists,
        "\(attempt.id) has a slot for nobody")
      demand(
        attempt.state != .ready || attempt.unmet == 0, "\(attempt.id) is ready and waits")
      demand(
        attempt.state != .blocked || attempt.unmet > 0, "\(attempt.id) waits for nothing")
      demand(
        attempt.state.isAssigned || !attempt.firstAwait.exists, "\(attempt.id) keeps its awaits")
      edgesFound += countAwaits(attempt, &problems)
    }
    for template in leftovers.values.map(\.position).sorted() {
      room.giveBack(demandOf(TemplateNumber(template)))
    }
    demand(
      outlived.allSatisfy { leftovers[$0] != nil && unkillable.contains($0) },
      "what is over and lives is not among the leftovers")
    demand(assigned == assignedFound, "assigned \(assigned), found \(assignedFound)")
    demand(
      running == liveFound + leftovers.count, "running \(running), found \(liveFound) live")
    demand(queue.ready == readyFound, "ready \(queue.ready), found \(readyFound)")
    demand(edges.count == edgesFound, "edges \(edges.count), found \(edgesFound)")
    demand(room == identity.capacity, "room \(room) does not add up to the capacity")
    demand(
      settings.isRelay || identity.capacity.covers(.none) && available.covers(.none),
      "took more than there is")
    demand(assigned <= settings.maximumAssigned, "has too many assigned")
    demand(running <= settings.maximumRunning, "runs too many")
    checkGraphs(&problems)
    checkGPUs(&problems)
    return problems
  }

  private func demandOf(_ template: TemplateNumber) -> Resources {
    queue.classes[Int(templates[Int(template.position)].demandClass)].demand
  }

  /// Checks the attempt's awaits and returns their number.
  private func countAwaits(_ attempt: AttemptRecord, _ problems: inout [String]) -> Int {
    var (count, unmet) = (0, 0)
    var number = attempt.firstAwait
    while number.exists {
      count += 1
      let edge = edges[number]
      if edge.from.exists {
        unmet += 1
        if attempts[edge.from].id.operation != edge.awaited {
          problems.append("an edge of \(attempt.id) hangs on a foreign slot")
        }
      }
      number = edge.nextAwait
    }
    let operation = operations.graphs[Int(attempt.graph)][attempt.id.operation.index]
    let ticket = attempts.ticket(operation.slot)
    if attempt.state == .blocked {
      unmet += contentsNeeded(by: operation.slot).count { content in
        contents.fetches[content.digest]?.contains(ticket) == true
      }
    }
    if attempt.state.isAssigned {
      for content in contentsNeeded(by: operation.slot)
      where holds(content.digest) && !contents.isReader(ticket, of: content.digest) {
        problems.append("\(attempt.id) would not hear that \(content.digest.short) is lost")
      }
    }
    if unmet != Int(attempt.unmet) { problems.append("\(attempt.id) counts its awaits wrong") }
    return count
  }

  private func checkGraphs(_ problems: inout [String]) {
    var live = Array(repeating: 0, count: operations.graphs.count)
    for slot in attempts.used { live[Int(attempts[slot].graph)] += 1 }
    for template in leftovers.values.map(\.position).sorted() {
      live[Int(templates[Int(template)].graph)] += 1
    }
    for (number, graph) in operations.graphs.enumerated() where graph.live != live[number] {
      problems.append("graph \(graph.graph.number) counts \(graph.live), found \(live[number])")
    }
  }
}
