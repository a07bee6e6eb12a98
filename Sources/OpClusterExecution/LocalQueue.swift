// The local queue: what is ready, by the queue's own rule (S47), in one line for each distinct
// demand, so that what does not fit is passed over as a whole. Owned by the core.

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

/// Everything ready that asks for the same resources, exclusive operations apart from others.
struct DemandClass: Sendable {
  var demand: Resources
  /// Starts only under the lease (G16).
  var isExclusive = false
  var line = Line()
  /// Entries of the line that still stand; others were given back and are skipped.
  var ready = 0
  /// Templates with this demand.
  var templates = 0
  /// Did not fit in this pass.
  var isBlocked = false
}

/// The lines, which of them have something ready, and where a demand's line is.
struct LocalQueue: Sendable {
  var classes: [DemandClass] = []
  private var free: [Int32] = []
  private var numbers: [Key: Int32] = [:]
  /// Classes with something ready, in the order in which they came to have it.
  private(set) var active: [Int32] = []
  /// Ready in all lines.
  private(set) var ready = 0

  private struct Key: Hashable {
    var demand: Resources
    var isExclusive: Bool
  }

  /// The class for a template's demand; one more template uses it.
  mutating func join(_ demand: Resources, isExclusive: Bool = false) -> Int32 {
    let key = Key(demand: demand, isExclusive: isExclusive)
    if let known = numbers[key] {
      classes[Int(known)].templates += 1
      return known
    }
    let number: Int32
    if let again = free.popLast() {
      number = again
      classes[Int(number)] = DemandClass(demand: demand, isExclusive: isExclusive)
    } else {
      number = Int32(classes.count)
      classes.append(DemandClass(demand: demand, isExclusive: isExclusive))
    }
    classes[Int(number)].templates = 1
    numbers[key] = number
    return number
  }

  /// One template fewer uses the class.
  mutating func leave(_ number: Int32) {
    classes[Int(number)].templates -= 1
    guard classes[Int(number)].templates == 0 else { return }
    let gone = classes[Int(number)]
    numbers[Key(demand: gone.demand, isExclusive: gone.isExclusive)] = nil
    classes[Int(number)] = DemandClass(demand: .none)
    free.append(number)
  }

  mutating func insert(_ entry: LineEntry, into number: Int32) {
    classes[Int(number)].line.insert(entry)
    classes[Int(number)].ready += 1
    ready += 1
    if classes[Int(number)].ready == 1 { active.append(number) }
  }

  /// One entry of the class no longer stands: it was chosen or given back.
  mutating func remove(from number: Int32) {
    classes[Int(number)].ready -= 1
    ready -= 1
    if classes[Int(number)].ready == 0, let at = active.firstIndex(of: number) {
      active.remove(at: at)
    }
  }

  mutating func unblockAll() {
    for number in active { classes[Int(number)].isBlocked = false }
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
