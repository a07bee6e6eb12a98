// The objects of one graph in this program, by index: all of them for one that it submitted, single
// ones for one that it asked for. A value.

import OpClusterModel

struct GraphObjects: Sendable {
  /// The objects of a submission, by index; nil for operations without one.
  private var submitted: [ClusterOperation?]
  /// Objects that were asked for by their number.
  private var lookedUp: [UInt32: ClusterOperation] = [:]

  init(submitted: [ClusterOperation?] = []) { self.submitted = submitted }

  var isEmpty: Bool { submitted.isEmpty && lookedUp.isEmpty }

  var all: [ClusterOperation] {
    submitted.compactMap { $0 } + lookedUp.keys.sorted().compactMap { lookedUp[$0] }
  }

  subscript(index: UInt32) -> ClusterOperation? {
    if Int(index) < submitted.count, let operation = submitted[Int(index)] { return operation }
    return lookedUp.isEmpty ? nil : lookedUp[index]
  }

  /// Takes an object that was asked for; nil: removes it.
  mutating func setLookedUp(_ operation: ClusterOperation?, at index: UInt32) {
    lookedUp[index] = operation
  }

  /// Visits the objects of neighbouring operations. Costs as many steps as there are neighbours, or
  /// objects if those are fewer.
  func forEach(from first: UInt32, count: UInt32, _ body: (ClusterOperation) -> Void) {
    let range = UInt64(first)..<(UInt64(first) + UInt64(count))
    let dense = min(range.upperBound, UInt64(submitted.count))
    if range.lowerBound < dense {
      for at in Int(range.lowerBound)..<Int(dense) { if let found = submitted[at] { body(found) } }
    }
    if lookedUp.isEmpty { return }
    if range.count <= lookedUp.count {
      for index in range {
        if let found = lookedUp[UInt32(truncatingIfNeeded: index)] { body(found) }
      }
    } else {
      for index in lookedUp.keys.sorted() where range.contains(UInt64(index)) {
        if let found = lookedUp[index] { body(found) }
      }
    }
  }
}
