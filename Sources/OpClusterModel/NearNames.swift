// Finds the known name that an unknown one probably means. Pure functions.

/// Finds near names for an unknown name.
public enum NearNames {
  /// Returns the hint for an unknown name; empty if no known name is near enough.
  public static func hint(for name: String, among known: some Sequence<String>) -> String {
    nearest(to: name, among: known).map { "did you mean '\($0)'?" } ?? ""
  }

  /// Returns the nearest name with at most one change per three letters; on a tie the first.
  public static func nearest(to name: String, among known: some Sequence<String>) -> String? {
    guard name.utf8.count <= 64 else { return nil }
    let bound = max(1, name.count / 3)
    var best: (name: String, distance: Int)?
    for candidate in known where abs(candidate.utf8.count - name.utf8.count) <= 2 * bound {
      let distance = self.distance(name, candidate)
      if distance <= bound, distance < best?.distance ?? Int.max { best = (candidate, distance) }
    }
    return best?.name
  }

  /// Counts the insertions, removals, replacements and swaps of neighbours between two names.
  public static func distance(_ first: String, _ second: String) -> Int {
    let a = Array(first.lowercased())
    let b = Array(second.lowercased())
    if a.isEmpty || b.isEmpty { return max(a.count, b.count) }
    var beforeLast = [Int](repeating: 0, count: b.count + 1)
    var last = Array(0...b.count)
    for i in 1...a.count {
      var row = [Int](repeating: i, count: b.count + 1)
      for j in 1...b.count {
        let change = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)
        row[j] = min(change, last[j] + 1, row[j - 1] + 1)
        if i > 1, j > 1, a[i - 1] == b[j - 2], a[i - 2] == b[j - 1] {
          row[j] = min(row[j], beforeLast[j - 2] + 1)
        }
      }
      (beforeLast, last) = (last, row)
    }
    return last[b.count]
  }
}
