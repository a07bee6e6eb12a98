// Finds the name that somebody probably meant. Pure functions, used wherever a name is unknown.

/// What an unknown name may have been meant to be.
public enum NearNames {
  /// The hint for an unknown name: the nearest known one, if one is near enough.
  public static func hint(for name: String, among known: some Sequence<String>) -> String {
    nearest(to: name, among: known).map { "did you mean '\($0)'?" } ?? ""
  }

  /// At most one change per three letters away; the first of equally near ones.
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

  /// Insertions, removals, replacements and swaps of neighbours that lead from one to the other.
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
