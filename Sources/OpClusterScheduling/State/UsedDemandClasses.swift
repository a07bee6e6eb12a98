// The demand classes that the stages of one graph use.

struct UsedDemandClasses: Sendable {
  private struct Use {
    /// The number among the classes of the cluster.
    var number: Int
    var stages: Int
  }

  /// Apart from the others: most graphs use one class, and need no list.
  private var first: Use?
  private var others: [Use] = []

  var count: Int { first == nil ? 0 : others.count + 1 }

  /// Adds a class that so many stages use; the position by which they name it is the number of
  /// those before.
  mutating func append(_ number: Int, stages: Int) {
    if first == nil {
      first = Use(number: number, stages: stages)
    } else {
      others.append(Use(number: number, stages: stages))
    }
  }

  /// The number of a class. Of one that is yet to come that of the first: no worker has operations
  /// of it, but one may claim to.
  @inline(__always)
  subscript(position: Int) -> Int {
    position == 0 || position > others.count ? first?.number ?? 0 : others[position - 1].number
  }

  /// Takes out some of the last.
  mutating func takeLast(_ count: Int, _ body: (_ number: Int, _ stages: Int) -> Void) {
    for use in others.suffix(count) { body(use.number, use.stages) }
    others.removeLast(min(others.count, count))
    if others.isEmpty, let last = first, count > 0 {
      body(last.number, last.stages)
      first = nil
    }
  }
}
