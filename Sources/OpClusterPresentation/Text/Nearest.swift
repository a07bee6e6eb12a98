// Finds near names for "did you mean": the candidate with the fewest changed letters.
// The reader of manifests has `NearNames` in OpClusterModel for the same purpose.

/// Returns the nearest of `candidates`; nil if none is near enough.
/// Short words allow fewer changes, or everything would be near. Of equally near candidates the
/// first wins.
public func nearest(_ text: String, among candidates: [String]) -> String? {
  let bound = text.count <= 3 ? 1 : text.count <= 6 ? 2 : 3
  var best: (name: String, distance: Int)?
  for candidate in candidates {
    guard abs(candidate.count - text.count) <= bound else { continue }
    let distance = editDistance(Array(text), Array(candidate))
    if distance <= bound, distance < best?.distance ?? .max { best = (candidate, distance) }
  }
  return best?.name
}

/// Counts the letters to insert, drop or replace; two swapped neighbours count as one.
/// O(a × b), in three rows of the table.
private func editDistance(_ a: [Character], _ b: [Character]) -> Int {
  var beforeLast: [Int] = []
  var last = Array(0...b.count)
  for i in a.indices {
    var row = [i + 1]
    for j in b.indices {
      var distance = min(last[j + 1] + 1, row[j] + 1, last[j] + (a[i] == b[j] ? 0 : 1))
      if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] {
        distance = min(distance, beforeLast[j - 1] + 1)
      }
      row.append(distance)
    }
    beforeLast = last
    last = row
  }
  return last[b.count]
}
