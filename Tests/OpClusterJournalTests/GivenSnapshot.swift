// Snapshots of given parts, for tests of journals.

import OpClusterJournal

struct GivenSnapshot: SnapshotContent {
  var count: Int
  var part: @Sendable (Int) -> [UInt8]
  func encoded(_ part: Int) -> [UInt8] { self.part(part) }
}

extension Journal {
  func snapshot(through sequence: UInt64, parts: [[UInt8]]) -> JournalAnswer {
    snapshot(through: sequence, parts: parts.count) { parts[$0] }
  }

  func snapshot(
    through sequence: UInt64, parts: Int, part: @escaping @Sendable (Int) -> [UInt8]
  ) -> JournalAnswer {
    snapshot(through: sequence) { GivenSnapshot(count: parts, part: part) }
  }
}
