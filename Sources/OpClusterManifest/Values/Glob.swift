// Matches file names by pattern: `*`, `?`, `[a-z]`, `[!a-z]`, folder by folder. Sorts by bytes;
// matches hidden names only if the pattern writes the dot. Called by the array decoder.
// The tree is walked through `FileAccess`, so tests need no disk. Links are names like any other.

import OpClusterModel

/// `**` has no meaning of its own, and a brace is a character.
struct Glob {
  let files: FileAccess
  /// More matches are an error.
  let maximumMatches: Int

  /// Returns the matching paths in the form of the pattern: relative ones stay relative to
  /// `folder`. nil if there are too many.
  /// Folders that cannot be listed have no matches. Each level is complete before the next, so the
  /// limit bounds the memory of every level.
  func paths(_ pattern: String, in folder: String) -> [String]? {
    let parts = pattern.split(separator: "/").map(String.init)
    var found = [pattern.hasPrefix("/") ? "/" : ""]
    for part in parts {
      var next: [String] = []
      for start in found {
        guard let names = names(part, in: start.hasPrefix("/") ? start : folder + "/" + start)
        else { continue }
        next += names.map { start.isEmpty || start == "/" ? start + $0 : start + "/" + $0 }
        if next.count > maximumMatches { return nil }
      }
      found = next
    }
    return found.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  /// nil if the folder cannot be listed. Names without a pattern are looked for in the list as
  /// well.
  private func names(_ part: String, in folder: String) -> [String]? {
    if part == "." || part == ".." { return [part] }
    guard let all = files.list(folder) else { return nil }
    if !FileNamePattern.isPattern(part) { return all.contains(part) ? [part] : [] }
    let pattern = FileNamePattern(part)
    return all.filter(pattern.matches)
  }
}
