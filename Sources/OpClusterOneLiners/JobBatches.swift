// Puts rows of arguments together to jobs: one, `-n`, or as many as fit (`-m`, `-X`). Pure.

/// What a row adds to a command that takes as many as fit.
package struct RowCost: Hashable, Sendable {
  /// How often its values are inserted.
  package var times: Int
  /// Bytes of the template that are repeated with it.
  package var around: Int

  package init(times: Int = 1, around: Int = 0) {
    self.times = times
    self.around = around
  }

  func bytes(of row: [String]) -> Int {
    around + times * row.reduce(0) { $0 + ShellQuotation.word($1).utf8.count + 1 }
  }
}

/// Rows in, jobs out.
package struct JobBatches: Sendable {
  package enum Size: Hashable, Sendable {
    /// So many rows a job; the last has what is left. 0: one row, which is not inserted.
    case rows(Int)
    /// As many as fit into `bytes`, at most `rows`; what is left at the end is shared by `places`.
    case fitting(bytes: Int, rows: Int, places: Int)
  }
  private let size: Size
  private let cost: RowCost
  private var rows: [[String]] = []
  private var bytes = 0
  /// The number of the last job.
  package private(set) var sequence: Int

  package init(_ size: Size, cost: RowCost = RowCost(), after sequence: Int = 0) {
    self.size = size
    self.cost = cost
    self.sequence = sequence
  }

  /// Takes a row; returns a job if one is full.
  package mutating func take(_ row: [String]) -> JobArguments? {
    switch size {
    case .rows(0): return job([[]])
    case .rows(1): return job([row])
    case .rows(let count):
      rows.append(row)
      guard rows.count >= count else { return nil }
      defer { rows = [] }
      return job(rows)
    case .fitting(let limit, let most, _):
      let length = cost.bytes(of: row)
      let isFull = !rows.isEmpty && bytes + length > limit
      defer {
        rows.append(row)
        bytes += length
      }
      guard isFull || rows.count >= most else { return nil }
      defer {
        rows = []
        bytes = 0
      }
      return job(rows)
    }
  }

  /// The jobs of what is left at the end.
  package mutating func finish() -> [JobArguments] {
    defer { rows = [] }
    guard !rows.isEmpty else { return [] }
    guard case .fitting(_, _, let places) = size else { return [job(rows)] }
    let share = (rows.count + max(1, places) - 1) / max(1, places)
    return stride(from: 0, to: rows.count, by: max(1, share)).map {
      job(Array(rows[$0..<min($0 + share, rows.count)]))
    }
  }

  private mutating func job(_ records: [[String]]) -> JobArguments {
    sequence += 1
    return JobArguments(records: records, sequence: sequence)
  }
}
