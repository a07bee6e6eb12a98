// What has to come before what, as positions in a list. Pure.

struct OrderOfNeeds {
  /// Each behind all that it needs.
  var order: [Int] = []
  /// One that waits for itself, perhaps through others; nil: nothing does.
  var circle: Int?

  /// - Parameter needs: What each needs; may repeat. O(all needs).
  init(_ needs: [[Int]]) {
    var missing = needs.map(\.count)
    var users = [[Int]](repeating: [], count: needs.count)
    for (at, before) in needs.enumerated() { for one in before { users[one].append(at) } }
    order = needs.indices.filter { missing[$0] == 0 }
    var next = 0
    while next < order.count {
      for user in users[order[next]] {
        missing[user] -= 1
        if missing[user] == 0 { order.append(user) }
      }
      next += 1
    }
    circle = missing.firstIndex { $0 > 0 }
  }
}
