// What a command does for each of several selectors: done one after the other, and told also where
// a later one fails.

/// Does something for one thing after the other, then shows what was done. If one fails, what was
/// done before it is shown first, since it has happened and nobody else tells it; then the failure
/// is thrown.
///
/// - Returns: The results in the order of the things.
func oneAfterAnother<Thing, Done>(
  _ things: [Thing], show: ([Done]) throws -> Void, _ perform: (Thing) async throws -> Done
) async throws -> [Done] {
  var done: [Done] = []
  do {
    for thing in things { done.append(try await perform(thing)) }
  } catch {
    // The failure is worth more than a reader that has gone meanwhile.
    if !done.isEmpty { try? show(done) }
    throw error
  }
  try show(done)
  return done
}
