// Workers that cannot start what they are given: a folder, a program, a disk or an account that is
// missing there. What could not be started is tried at others, and is no failure of the operation
// until several agree; a worker of which it is known rests for a moment, is given one operation,
// and rests longer after each that it cannot start either. Not durable: a coordinator that is
// started anew finds out again. Asked by the reports of workers and by the choice of a worker.

import HeapModule
public import OpClusterModel

/// What is known of a worker that could not start something.
struct StartTrouble: Sendable {
  /// What it could not start since it has last started anything, the first ones.
  var operations: [OperationID]
  /// Rests that have followed one another.
  var rests: UInt32 = 1
  /// It is given nothing before.
  var until: Instant
  /// What it said of the last one.
  var reason: String
  /// It was given one operation, to see whether it goes better.
  var isTried = false
}

/// When a worker's rest ends.
struct Rest: Comparable, Sendable {
  var until: Instant
  var seat: UInt32
  static func < (a: Self, b: Self) -> Bool { (a.until, a.seat) < (b.until, b.seat) }
}

extension StartTrouble {
  /// So much that people have to look.
  var isLasting: Bool { rests >= Limits.restsBeforeSetAside }

  /// What is told of it to whoever asks for workers.
  func text(at now: Instant) -> String {
    let seconds = max(until - now, .zero).wholeSeconds
    let next = isTried ? "it is tried again now" : "it is tried again in \(seconds) s"
    return "it could not start the last \(operations.count) that it was given, \(next): \(reason)"
  }
}

extension Scheduler {
  /// Whether an operation that a worker could not start is tried at another, and not counted. Looks
  /// at workers until it finds one that could take it.
  mutating func isTriedElsewhere(
    _ id: OperationID, _ result: AttemptResult, after worker: WorkerID, at now: Instant
  ) -> Bool {
    guard result.cause == .cannotStart, !result.wasStopped else { return false }
    let graph = id.graph.number
    var unable = graphs[graph].unable[id.index] ?? []
    if !unable.contains(worker.number) { unable.append(worker.number) }
    let stage = graphs[graph].stageNumber(of: id.index)
    let demandClass = graphs[graph].stages[stage].demandClass
    let hasOther =
      unable.count < Limits.workersThatAgree
      && seats.numbers.contains { number in
        !unable.contains(number) && mayStart(number, demandClass)
      }
    if hasOther {
      graphs[graph].unable[id.index] = unable
      rest(worker.number, id, result.diagnostic, at: now)
      return true
    }
    // They agree: it is the operation's own fault, and no worker's.
    graphs[graph].unable[id.index] = nil
    for number in unable { acquit(number, of: id) }
    return false
  }

  /// Whether a worker, busy or not, may be given such operations before long.
  private func mayStart(_ seat: UInt32, _ demandClass: Int) -> Bool {
    seats[seat].isThere && seats[seat].trouble?.isLasting != true && fits(seat, demandClass)
  }

  /// Those of a pass that have not been unable to start the first operation of a run; all of them,
  /// where no other worker could take it any more.
  func seats(_ candidates: [UInt32], ableToStart run: ReadyRun, _ demandClass: Int) -> [UInt32] {
    guard let unable = graphs[run.graph.number].unable[run.first] else { return candidates }
    let able = candidates.filter { !unable.contains($0) }
    if !able.isEmpty { return able }
    let hasOther = seats.numbers.contains { number in
      !unable.contains(number) && mayStart(number, demandClass)
    }
    return hasOther ? [] : candidates
  }

  private mutating func rest(
    _ seat: UInt32, _ id: OperationID, _ reason: String, at now: Instant
  ) {
    var trouble = StartTrouble(operations: [], until: now, reason: reason)
    if let known = seats[seat].trouble {
      trouble = known
      trouble.reason = reason
      // What was under way when the rest began says no more than the first of them.
      if known.isTried {
        trouble.rests += 1
      } else if known.until > now {
        if trouble.operations.count < Limits.unableOperationsKept { trouble.operations.append(id) }
        seats[seat].trouble = trouble
        return
      }
    }
    if trouble.operations.count < Limits.unableOperationsKept { trouble.operations.append(id) }
    trouble.isTried = false
    let factor: Int64 = 1 << Int64(min(trouble.rests - 1, 20))
    trouble.until = now + min(Limits.firstRest * factor, Limits.longestRest)
    seats[seat].trouble = trouble
    seats[seat].isResting = true
    rests.insert(Rest(until: trouble.until, seat: seat))
    if trouble.isLasting { note(.setAside(WorkerID(seat), trouble.reason)) }
  }

  /// It was given the one operation by which it is seen whether it can start anything again.
  mutating func noteTry(_ seat: UInt32, at now: Instant) {
    guard seats[seat].trouble != nil else { return }
    seats[seat].trouble?.isTried = true
    seats[seat].isResting = true
    // Should it never be heard of: another try.
    seats[seat].trouble?.until = now + Limits.longestTry
    rests.insert(Rest(until: now + Limits.longestTry, seat: seat))
  }

  /// It has started something.
  mutating func noteStart(at seat: UInt32) {
    guard let trouble = seats[seat].trouble else { return }
    if trouble.isLasting { note(.back(WorkerID(seat))) }
    endTrouble(of: seat)
  }

  mutating func endTrouble(of seat: UInt32) {
    seats[seat].trouble = nil
    seats[seat].isResting = false
  }

  /// An operation that it could not start cannot be started anywhere.
  private mutating func acquit(_ seat: UInt32, of id: OperationID) {
    guard seats.contains(seat), seats[seat].trouble != nil else { return }
    seats[seat].trouble?.operations.removeAll { $0 == id }
    if seats[seat].trouble?.operations.isEmpty == true { endTrouble(of: seat) }
  }

  /// Rests that are over by now.
  mutating func endRests(at now: Instant) {
    while let first = rests.min, first.until <= now {
      rests.removeMin()
      guard seats.contains(first.seat), let trouble = seats[first.seat].trouble,
        trouble.until <= now
      else { continue }
      seats[first.seat].isResting = false
      seats[first.seat].trouble?.isTried = false
    }
  }

  /// By a client's wish: it is well again.
  mutating func resume(_ name: String) throws(Refusal) -> ClientReply {
    guard let worker = seatByName[name], seats.contains(worker.number) else {
      throw Refusal(
        .unknownWorker, "there is no worker \(name)", hint: "see them with: opbatch worker ls")
    }
    endTrouble(of: worker.number)
    return .done(lastCommit)
  }
}

/// What the log is told of workers beside their coming and going.
public enum WorkerNotice: Equatable, Sendable {
  /// It takes nothing for longer and longer, and why.
  case setAside(WorkerID, String)
  case back(WorkerID)
}

extension Scheduler {
  /// Where nobody asks for them, the first ones are kept.
  private mutating func note(_ notice: WorkerNotice) {
    if notices.count < Limits.workers { notices.append(notice) }
  }

  /// What was noticed since the last call.
  public mutating func takeNotices() -> [WorkerNotice] {
    if notices.isEmpty { return [] }
    defer { notices.removeAll() }
    return notices
  }
}
