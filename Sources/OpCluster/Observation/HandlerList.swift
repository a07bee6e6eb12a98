// Handlers in the order of registration, so that a program behaves alike from run to run. A value;
// its owner guards it with a lock and calls handlers outside of it.

/// Handlers, and the numbers for removing them.
struct HandlerList<News: Sendable>: Sendable {
  typealias Handler = @Sendable (News) -> Void
  private var entries: [(number: UInt64, handler: Handler)] = []
  private var last: UInt64 = 0

  var isEmpty: Bool { entries.isEmpty }
  /// All handlers, in order.
  var all: [Handler] { entries.isEmpty ? [] : entries.map(\.handler) }

  mutating func add(_ handler: @escaping Handler) -> UInt64 {
    last += 1
    entries.append((last, handler))
    return last
  }

  mutating func remove(_ number: UInt64) { entries.removeAll { $0.number == number } }

  /// Removes and returns all handlers.
  mutating func takeAll() -> [Handler] {
    if entries.isEmpty { return [] }
    defer { entries = [] }
    return all
  }
}

extension HandlerList where News == Void {
  /// Adds a handler that needs no value.
  mutating func add(_ handler: @escaping @Sendable () -> Void) -> UInt64 {
    add { (_: Void) in handler() }
  }
}
