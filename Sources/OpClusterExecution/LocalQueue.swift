// The local queue: what is ready, by each queue's own rule (S47) and the rule between queues (S60),
// in one line for each queue and distinct demand, so that what does not fit is passed over as a
// whole. Owned by the core.

import DequeModule
import HeapModule
import OpClusterModel

/// A place in a line: highest priority first, then the place that the coordinator gave, then the
/// operation, so that the order is total.
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

/// One line. What arrives in order costs nothing but an append; the rest goes through a heap.
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

/// What templates ask for, exclusive operations apart from others; those that ask for the same
/// share one.
struct DemandClass: Sendable {
  var demand: Resources
  /// Starts only under the lease (G16).
  var isExclusive = false
  /// Templates with this demand.
  var templates = 0
}

/// Everything ready of one queue that asks for the same resources.
struct Lane: Sendable {
  var demandClass: Int32
  /// Position in `LocalQueue.turns`, while it has something ready.
  var turn: Int32 = 0
  var line = Line()
  /// Entries of the line that still stand; others were given back and are skipped.
  var ready = 0
  /// Did not fit in this pass.
  var isBlocked = false
}

/// A queue of the cluster with something ready here, and whose turn it is.
struct QueueTurn: Sendable {
  var service: QualityOfService = .default
  /// Among queues of equal service the lowest goes next; then it is the last one (S60).
  var number: UInt64
  /// Ready in all of its lanes.
  var ready = 0
}

/// The lanes, which of them have something ready, and where a queue's lane for a demand is.
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
  /// Lanes with something ready, in the order in which they came to have it.
  private(set) var active: [Int32] = []
  /// Ready in all lanes.
  private(set) var ready = 0

  /// Classes that no template uses are kept for the next one, up to so many; likewise lanes and
  /// turns of queues with nothing ready.
  private static let kept = 64
  /// What was joined last: most templates ask for what the one before them did.
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

  /// The class for a template's demand; one more template uses it.
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

  /// One template fewer uses the class.
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

  /// One entry no longer stands: it was chosen or given back. Returns its lane, if that still has
  /// something ready.
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
    // What is left in its line was given back.
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

  /// A queue that has had nothing ready takes its turn after those that wait already.
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

  /// Its queue has had its turn.
  mutating func served(_ lane: Int32) {
    lastTurn += 1
    turns[Int(lanes[Int(lane)].turn)].number = lastTurn
  }

  /// Whether an entry of one lane goes before an entry of another: the better service first, equals
  /// in turns (S60), inside a queue by level and place (S47, S50).
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
  /// Takes away as much of `demand` as there is: what is kept for it while it waits for the rest.
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
