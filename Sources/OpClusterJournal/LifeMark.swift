// Detects a lost write-ahead log. The database says that a life has begun and not ended; a small
// file beside it says how far that life has committed. Written by the journal's thread without a
// sync of its own; read by Recovery before anything is opened for writing.

/// The last committed turn of a life: a lower bound after a loss of power, exact after the end of a
/// process, since the system keeps written data.
struct LifeMark: Sendable, Equatable {
  /// The number in the database's `meta` while this life has not ended in good order.
  var life: Int64
  /// Identifies this start of the machine.
  var boot: Int64
  /// The last committed turn.
  var turn: Int64

  /// The size in bytes.
  static let size = 40
  private static let kind = Array("OPCLMARK".utf8)

  var bytes: [UInt8] {
    let numbers = [life, boot, turn].flatMap(Self.bytes)
    return Self.kind + numbers + Self.bytes(Checksum.of(0, 0, numbers))
  }

  init(life: Int64, boot: Int64, turn: Int64) {
    (self.life, self.boot, self.turn) = (life, boot, turn)
  }

  /// Returns nil if the bytes are incomplete or something else.
  init?(_ bytes: [UInt8]) {
    guard bytes.count == Self.size, Array(bytes[..<8]) == Self.kind,
      Checksum.of(0, 0, Array(bytes[8..<32])) == Self.number(bytes[32...])
    else { return nil }
    life = Self.number(bytes[8..<16])
    boot = Self.number(bytes[16..<24])
    turn = Self.number(bytes[24..<32])
  }

  private static func bytes(_ number: Int64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * Int64($0))) }
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> Int64 {
    bytes.reversed().reduce(0) { $0 << 8 | Int64($1) }
  }
}

/// The mark of the life that writes at present.
final class LifeMarkFile {
  private let file: WrittenFile
  private var mark: LifeMark

  /// Writes the mark and makes it durable before the database names this life.
  init(_ folder: StateFolder, _ mark: LifeMark) throws(JournalError) {
    self.mark = mark
    file = try WrittenFile(folder.mark)
    try file.write(mark.bytes)
    try FileSystem.synchronize(folder.mark)
    try FileSystem.synchronize(folder.path)
  }

  /// Notes a turn that is on disk. On an error the mark stays as it was, and is still true.
  func note(_ turn: UInt64) {
    mark.turn = Int64(clamping: turn)
    try? file.write(mark.bytes)
  }
}

/// The life in the database, and the check for missing turns.
enum Life {
  static let begin = "REPLACE INTO meta VALUES ('life', ?)"
  /// Must be committed before the log is copied into the database and emptied.
  static let end = "DELETE FROM meta WHERE key = 'life'"

  /// Refuses a journal whose log is lost although turns were committed to it (G1, G6).
  /// - Parameters:
  ///   - mark: Must be read before the connection begins to read.
  ///   - last: The last existing turn.
  static func check(
    _ connection: Connection, _ folder: StateFolder, _ mark: LifeMark?, last: UInt64
  ) throws(JournalError) {
    guard let life = try connection.number("SELECT value FROM meta WHERE key = 'life'") else {
      return
    }
    let last = Int64(clamping: last)
    let mark = mark.flatMap { $0.life == life ? $0 : nil }
    if let mark, mark.turn > last {
      throw .damaged(
        "turn \(last + 1)",
        because: "it is missing, and so is all behind it up to turn \(mark.turn), which "
          + "\(folder.mark) says was committed: the write-ahead log was lost or cut short",
        remedy: .lostLog(last: last))
    }
    // A life begins with a log that is not empty, and ends before the log is emptied.
    if try WriteAheadLog.hasFrames(folder.writeAheadLog) { return }
    // Another program may have merged the log into the database. Since this start of the machine
    // the mark is exact, so nothing is missing.
    if let mark, mark.boot == Boot.current { return }
    throw .damaged(
      "the write-ahead log \(folder.writeAheadLog)",
      because: "it is missing or empty, and the coordinator that wrote it did not end in good "
        + "order; the database ends with turn \(last)",
      remedy: .lostLog(last: last))
  }
}

/// A number of this start of the machine.
enum Boot {
  static let current: Int64 = {
    let name = FileSystem.begin(of: "/proc/sys/kernel/random/boot_id", bytes: 64)
    return Checksum.of(0, Int64(name.count), name)
  }()
}
