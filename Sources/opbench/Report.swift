// Prints the table for people and the lines for programs. The units are those of the workload's
// title; some figures are better when they are larger and some when they are smaller, so that
// nothing here compares them with a bound.

/// One row for each series of a workload. A figure stands beside those that the same run has of
/// Foundation's queue and of a bare floor, since two runs on a busy machine cannot be compared.
struct Report {
  let isJSON: Bool
  private var rows: [Row] = []

  private struct Row {
    var workload: String
    var title: String
    var ours: [Double]
    var foundation: [Double]?
    var floor: [Double]?
  }

  init(isJSON: Bool) { self.isJSON = isJSON }

  /// JSON lines are printed at once: a long run that is interrupted leaves what it has measured.
  mutating func addRows(
    _ workload: Workload, ours: [String: [Double]], foundation: [Double]?, floor: [Double]?
  ) {
    for series in ours.keys.sorted() {
      let title = series.isEmpty ? workload.title : "\(workload.title) (\(series))"
      let row = Row(
        workload: workload.rawValue, title: title, ours: ours[series] ?? [],
        foundation: foundation, floor: floor)
      rows.append(row)
      if isJSON { print(json(row)) }
    }
  }

  /// The table of the README, at the end.
  func finish() {
    if isJSON { return }
    print("| | workload | OpCluster (min..max) | Foundation | floor | OpCluster / floor |")
    print("|---|---|---|---|---|---|")
    for row in rows {
      let ratio = row.floor.map { row.ours.median / $0.median }
      print(
        "| \(row.workload) | \(row.title) | \(Self.shown(row.ours.median)) "
          + "(\(Self.shown(row.ours.min() ?? 0))..\(Self.shown(row.ours.max() ?? 0))) "
          + "| \(row.foundation.map { Self.shown($0.median) } ?? "–") "
          + "| \(row.floor.map { Self.shown($0.median) } ?? "–") "
          + "| \(ratio.map { "\(Int(($0 * 100).rounded())) %" } ?? "–") |")
    }
  }

  /// All values beside the median, so that the spread can be judged later.
  private func json(_ row: Row) -> String {
    var parts = [
      "\"workload\":\"\(row.workload)\"", "\"title\":\"\(row.title)\"",
      "\"median\":\(row.ours.median)", "\"values\":\(row.ours)",
    ]
    if let foundation = row.foundation { parts.append("\"foundation\":\(foundation.median)") }
    if let floor = row.floor { parts.append("\"floor\":\(floor.median)") }
    return "{\(parts.joined(separator: ","))}"
  }

  /// Four digits at most: the machine is not steadier than that.
  static func shown(_ value: Double) -> String {
    switch value {
    case 1_000...: "\(Int(value.rounded()))"
    case 10...: "\((value * 10).rounded() / 10)"
    default: "\((value * 1_000).rounded() / 1_000)"
    }
  }
}

extension [Double] {
  /// The middle value, or the mean of the two; 0 of nothing.
  var median: Double {
    let sorted = self.sorted()
    if sorted.isEmpty { return 0 }
    let middle = sorted.count / 2
    return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
  }
}
