// Names operations along a path for people, a bounded number of them: a path may be as long as the
// world is large.

import OpClusterModel

enum ShownPath {
  /// The names of a path's places from 0, at most `Limits.operationsNamedPerRefusal`: the first
  /// ones and the last, and between them how many there are more. Only these are asked for.
  static func text(count: Int, separator: String, name: (Int) -> String) -> String {
    let limit = Limits.operationsNamedPerRefusal
    if count <= limit { return (0..<count).map(name).joined(separator: separator) }
    let first = (0..<limit - 1).map(name)
    return (first + ["\(count - limit) more", name(count - 1)]).joined(separator: separator)
  }

  /// The names along a cycle of `count` places, the first one repeated at its end.
  static func cycle(count: Int, name: (Int) -> String) -> String {
    text(count: count + 1, separator: " ← ") { name($0 == count ? 0 : $0) }
  }
}

extension ClusterState {
  /// Names a path that ends where it began: "a ← b" says that b waits for a.
  func shown(cycle path: [OperationID]) -> String {
    ShownPath.text(count: path.count, separator: " ← ") { shown(path[$0]) }
  }
}
