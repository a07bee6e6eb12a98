// The local queue: ready attempts in the order of each queue (S47) and between queues (S60). There
// is one line per queue and distinct demand, so that a demand that does not fit is skipped as a
// whole. Owned by the core.

import DequeModule
import HeapModule
import OpClusterModel

/// A position in a line: by priority, then by the coordinator's place, then by the operation, so
/// that the order is total.
struct LineEntry: Comparable, Sendable {
  var priority: Priority
  var place: UInt64
  var operation: OperationID
  var ticket: SlotTicket

  static func < (a: LineEntry, b: LineEntry) -> Bool {
    if a.priority != b.priority { return a.priority > b.priority }
    if a.place != b.place { return a.place < b.place }
    return a.operation < b.operation
  }
}

/// One line. An entry that arrives in order costs an append; others go through a heap.
struct Line: Sendable {
  private var inOrder: Deque<LineEntry> = []
  private var outOfOrder = Heap<LineEntry>()

  var count: Int { inOrder.count + outOfOrder.count }

  mutating func insert(_ entry: LineEntry) {
    if let last = inOrder.last, entry < last {
      outOfOrder.insert(entry)
    } else {
      inOrder.append(entry)
    }
  }

  var first: LineEntry? {
    guard let a = inOrder.first else { return outOfOrder.min }
    guard let b = outOfOrder.min else { return a }
    return min(a, b)
  }

  mutating func removeFirst() {
    guard let a = inOrder.first else {
      _ = outOfOrder.popMin()
      return
    }
    if let b = outOfOrder.min, b < a { _ = outOfOrder.popMin() } else { inOrder.removeFirst() }
  }

  mutating func removeAll(where isStale: (LineEntry) -> Bool) {
    inOrder.removeAll(where: isStale)
    outOfOrder = Heap(outOfOrder.unordered.filter { !isStale($0) })
  }
}

/// A distinct demand of templates; exclusive operations are separate. Templates with the same
/// demand share it.
struct DemandClass: Sendable {
  var demand: Resources
  /// Starts only under the lease (G16).
  var isExclusive = false
  /// The number of templates with this demand.
  var templates = 0
}

/// A lane: the ready attempts of one queue with the same demand.
struct Lane: Sendable {
  var demandClass: Int32
  /// The position in `LocalQueue.turns`, while it has ready attempts.
  var turn: Int32 = 0
  var line = Line()
  /// The valid entries of the line; others were given back and are skipped.
  var ready = 0
  /// The demand did not fit in this pass.
  var isBlocked = false
}

/// A queue of the cluster with ready attempts here, and its turn.
struct QueueTurn: Sendable {
  var service: QualityOfService = .default
  /// Among queues of equal service the lowest number is next; it then becomes the last (S60).
  var number: UInt64
  /// The ready attempts in all of its lanes.
  var ready = 0
}

/// The lanes, those with ready attempts, and the lane of each queue and demand.
struct LocalQueue: Sendable {
  private(set) var classes: [DemandClass] = []
  private var freeClasses: [Int32] = []
  private var classNumbers: [ClassKey: Int32] = [:]
  var lanes: [Lane] = []
  private var freeLanes: [Int32] = []
  private var laneNumbers: [LaneKey: Int32] = [:]
  private var newest: (key: LaneKey, lane: Int32)?
  private var turns: [QueueTurn] = []
  private var freeTurns: [Int32] = []
  private var turnNumbers: [QueueID: Int32] = [:]
  private var lastTurn: UInt64 = 0
  /// Lanes with ready attempts, in the order in which they got them.
  private(set) var active: [Int32] = []
  /// The ready attempts in all lanes.
  private(set) var ready = 0

  /// Maximum number of unused classes, lanes and turns that are kept for reuse.
  private static let kept = 64
  /// The last joined class: most templates have the demand of the one before.
  private var recent: Int32?

  private struct ClassKey: Hashable {
    var demand: Resources
    var isExclusive: Bool
  }

  struct LaneKey: Hashable, Sendable {
    var demandClass: Int32
    var queue: QueueID
  }

  // MARK: - Demands

  /// Returns the class of a template's demand and counts the template.
  mutating func join(_ demand: Resources, isExclusive: Bool = false) -> Int32 {
    if let recent, classes[Int(recent)].isExclusive == isExclusive,
      classes[Int(recent)].demand == demand
    {
      classes[Int(recent)].templates += 1
      return recent
    }
    let key = ClassKey(demand: demand, isExclusive: isExclusive)
    if let known = classNumbers[key] {
      classes[Int(known)].templates += 1
      recent = known
      return known
    }
    let number: Int32
    if let again = freeClasses.popLast() {
      number = again
      classes[Int(number)] = DemandClass(demand: demand, isExclusive: isExclusive)
    } else {
      number = Int32(classes.count)
      classes.append(DemandClass(demand: demand, isExclusive: isExclusive))
    }
    classes[Int(number)].templates = 1
    classNumbers[key] = number
    recent = number
    return number
  }

  /// Counts a template of the class down.
  mutating func leave(_ number: Int32) {
    classes[Int(number)].templates -= 1
    guard classes[Int(number)].templates == 0, classNumbers.count > Self.kept else { return }
    recent = nil
    let gone = classes[Int(number)]
    classNumbers[ClassKey(demand: gone.demand, isExclusive: gone.isExclusive)] = nil
    classes[Int(number)] = DemandClass(demand: .none)
    freeClasses.append(number)
  }

  func isExclusive(_ lane: Int32) -> Bool {
    classes[Int(lanes[Int(lane)].demandClass)].isExclusive
  }

  func demand(of lane: Int32) -> Resources { classes[Int(lanes[Int(lane)].demandClass)].demand }

  // MARK: - Lanes

  mutating func insert(_ entry: LineEntry, _ key: LaneKey, _ service: QualityOfService) {
    let number = lane(key)
    if lanes[Int(number)].ready == 0 {
      lanes[Int(number)].turn = turn(of: key.queue)
      active.append(number)
    }
    lanes[Int(number)].line.insert(entry)
    lanes[Int(number)].ready += 1
    let turn = Int(lanes[Int(number)].turn)
    turns[turn].ready += 1
    turns[turn].service = service
    ready += 1
  }

  /// Removes an entry that was chosen or given back. Returns its lane if that still has ready
  /// attempts.
  @discardableResult
  mutating func remove(_ key: LaneKey) -> Int32? {
    guard let number = known(key) else { preconditionFailure("nothing ready of \(key)") }
    let lane = Int(number)
    lanes[lane].ready -= 1
    turns[Int(lanes[lane].turn)].ready -= 1
    ready -= 1
    guard lanes[lane].ready == 0 else { return number }
    if turns[Int(lanes[lane].turn)].ready == 0, turnNumbers.count > Self.kept {
      turnNumbers[key.queue] = nil
      freeTurns.append(lanes[lane].turn)
    }
    // The rest of its line was given back.
    if lanes[lane].line.count > 0 { lanes[lane].line = Line() }
    lanes[lane].isBlocked = false
    if laneNumbers.count > Self.kept {
      laneNumbers[key] = nil
      newest = nil
      freeLanes.append(number)
    }
    if let at = active.firstIndex(of: number) { active.remove(at: at) }
    return nil
  }

  private func known(_ key: LaneKey) -> Int32? {
    if let newest, newest.key == key { return newest.lane }
    return laneNumbers[key]
  }

  private mutating func lane(_ key: LaneKey) -> Int32 {
    if let known = known(key) {
      newest = (key, known)
      return known
    }
    let number: Int32
    if let again = freeLanes.popLast() {
      number = again
      lanes[Int(number)] = Lane(demandClass: key.demandClass)
    } else {
      number = Int32(lanes.count)
      lanes.append(Lane(demandClass: key.demandClass))
    }
    laneNumbers[key] = number
    newest = (key, number)
    return number
  }

  // MARK: - Turns

  /// Returns the turn of a queue. A queue that had nothing ready goes behind those that wait
  /// already.
  private mutating func turn(of queue: QueueID) -> Int32 {
    if let known = turnNumbers[queue] {
      if turns[Int(known)].ready > 0 { return known }
      lastTurn += 1
      turns[Int(known)].number = lastTurn
      return known
    }
    lastTurn += 1
    let turn = QueueTurn(number: lastTurn)
    let position: Int32
    if let again = freeTurns.popLast() {
      position = again
      turns[Int(position)] = turn
    } else {
      position = Int32(turns.count)
      turns.append(turn)
    }
    turnNumbers[queue] = position
    return position
  }

  /// Notes that the lane's queue has had its turn.
  mutating func served(_ lane: Int32) {
    lastTurn += 1
    turns[Int(lanes[Int(lane)].turn)].number = lastTurn
  }

  /// Whether an entry of one lane goes before an entry of another: the better service first, equal
  /// ones in turns (S60), inside a queue by level and place (S47, S50).
  func goesBefore(_ a: LineEntry, of lane: Int32, _ b: LineEntry, of other: Int32) -> Bool {
    let (mine, its) = (lanes[Int(lane)].turn, lanes[Int(other)].turn)
    if mine == its { return a < b }
    if turns[Int(mine)].service != turns[Int(its)].service {
      return turns[Int(mine)].service > turns[Int(its)].service
    }
    return turns[Int(mine)].number < turns[Int(its)].number
  }

  mutating func unblockAll() {
    for number in active { lanes[Int(number)].isBlocked = false }
  }
}

extension Resources {
  /// Subtracts as much of `demand` as is free: it is reserved while the demand waits for the rest.
  mutating func reserve(_ demand: Resources) {
    func keep(_ amount: inout Int64, _ wanted: Int64) { amount -= max(0, min(amount, wanted)) }
    keep(&cpus.tenThousandths, demand.cpus.tenThousandths)
    keep(&memoryBytes, demand.memoryBytes)
    keep(&gpus.tenThousandths, demand.gpus.tenThousandths)
    for wanted in demand.custom {
      if let at = custom.firstIndex(where: { $0.name == wanted.name }) {
        keep(&custom[at].amount.tenThousandths, wanted.amount.tenThousandths)
      }
    }
  }
}
