// Checks SQLite's write-ahead log before SQLite reads it. SQLite silently stops at the first
// invalid frame. That is right for a commit torn by a crash (G5), but it would lose acknowledged
// turns after damage further ahead (G6). Used by Recovery, on the calling thread, read-only. The
// format: sqlite.org/fileformat2.html#wal.

/// Distinguishes a torn end from damage in the middle.
///
/// With `synchronous = FULL` a commit is synced before the next frame is written, and each life of
/// a journal begins with an empty log. So a crash can tear only the last transaction: any of its
/// frames may be missing or half written, in any order; one of them marks the commit; no page
/// occurs twice; and no frame of this log lies behind them. Everything else behind the last whole
/// commit was synced once, and must be valid.
struct WriteAheadLog {
  private static let headerSize = 32
  private static let frameHeaderSize = 24
  /// A transaction with more frames may exceed SQLite's cache: its last frame can then repeat a
  /// page.
  private static let framesWithoutSpilling = 1_000
  /// Maximum reads of a log that changes meanwhile.
  private static let maximumLooks = 20

  private var salts: [UInt8] = []
  private var isBigEndian = false
  private var pageSize = 0
  private var sums: (UInt32, UInt32) = (0, 0)
  private var frame = 0
  /// The last whole commit, and the last frame of this log behind it, counted from 1.
  private var lastCommit = 0
  private var lastOwn = 0
  /// The pages behind the last whole commit.
  private var pages: Set<UInt32> = []
  /// The first invalid frame, counted from 1.
  private var broken: (number: Int, bytes: [UInt8])?
  /// Whether that frame, or one behind it, marks a commit.
  private var hasBrokenCommit = false
  private var isDamaged = false

  /// Whether the log has any frames.
  static func hasFrames(_ path: String) throws(JournalError) -> Bool {
    guard let size = try FileSystem.knownSize(path) else { return false }
    return size > headerSize + frameHeaderSize
  }

  /// Visits a file in pieces, as `FileSystem.forEachPiece` does.
  typealias Reading = (
    _ path: String, _ first: Int, _ visit: ([UInt8]) -> Int?
  ) throws(JournalError) -> Void

  /// Suspected damage, with the bytes that show it.
  private struct Damage: Equatable {
    let error: JournalError
    let header: [UInt8]
    let frame: [UInt8]
  }

  /// Returns the number of frames at the end that belong to no commit: SQLite will drop them (G5).
  ///
  /// A journal in use is written meanwhile: a frame may be incomplete, or the log restarts behind
  /// the reader. Such a state changes, and damage stays. So damage counts only if two consecutive
  /// reads find the same bytes under the same header.
  /// - Throws: `.damaged`, or `.storage` if no two reads agreed.
  static func check(
    _ path: String, read: Reading = FileSystem.forEachPiece
  ) throws(JournalError) -> Int {
    var seen: Damage?
    for look in 0..<maximumLooks {
      // Where two looks differed, the writer is given time to move on; 0.4 s in all.
      if look > 1 { FileSystem.pause(milliseconds: 2 * look) }
      var log = WriteAheadLog()
      let damage = try log.look(at: path, read)
      guard let damage else { return max(0, log.lastOwn - log.lastCommit) }
      if damage == seen { throw damage.error }
      seen = damage
    }
    throw JournalError(
      kind: .storage, code: 0,
      message: "\(path) was written so fast that it could not be read as of one moment",
      advice: "try again when the coordinator has less to do")
  }

  /// Reads the whole log once.
  private mutating func look(
    at path: String, _ read: Reading
  ) throws(JournalError) -> Damage? {
    guard try Self.hasFrames(path) else { return nil }
    var header: [UInt8] = []
    var frameSize: Int?
    try read(path, Self.headerSize) { piece in
      guard let size = frameSize else {
        header = piece
        if self.read(header: piece) { frameSize = Self.frameHeaderSize + pageSize }
        return frameSize
      }
      if piece.count < size { self.read(torn: piece) }
      return piece.count == size && self.read(frame: piece) ? size : nil
    }
    guard frameSize != nil else {
      let error = JournalError.damaged(
        "\(path) header", because: "its checksum does not hold, yet frames follow",
        remedy: .cutLog)
      return Damage(error: error, header: header, frame: [])
    }
    guard isDamaged, let broken else { return nil }
    let error = JournalError.damaged(
      "\(path) frame \(broken.number)",
      because: "it does not hold, yet what was written after it is there",
      remedy: .cutLog)
    return Damage(error: error, header: header, frame: broken.bytes)
  }

  private mutating func read(header: [UInt8]) -> Bool {
    guard header.count == Self.headerSize else { return false }
    let magic = Self.number(header, 0)
    guard magic & ~1 == 0x377f_0682 else { return false }
    isBigEndian = magic & 1 == 1
    pageSize = Int(Self.number(header, 8))
    guard pageSize >= 512, pageSize <= 65_536, pageSize & (pageSize - 1) == 0 else { return false }
    salts = Array(header[16..<24])
    add(header[0..<24])
    return sums == (Self.number(header, 24), Self.number(header, 28))
  }

  /// Reads the next frame; false if no further frame matters.
  private mutating func read(frame piece: [UInt8]) -> Bool {
    frame += 1
    let (page, isCommit) = (Self.number(piece, 0), Self.number(piece, 4) != 0)
    if broken == nil {
      add(piece[0..<8])
      add(piece[Self.frameHeaderSize...])
      if isOurs(piece), sums == (Self.number(piece, 16), Self.number(piece, 20)) {
        lastOwn = frame
        if isCommit {
          lastCommit = frame
          pages.removeAll(keepingCapacity: true)
        } else {
          pages.insert(page)
        }
        return true
      }
      broken = (frame, piece)
    }
    guard isAlmostOurs(piece) else { return true }
    lastOwn = frame
    let mayRepeat = isCommit && frame - lastCommit > Self.framesWithoutSpilling
    isDamaged = hasBrokenCommit || (!pages.insert(page).inserted && !mayRepeat)
    hasBrokenCommit = hasBrokenCommit || isCommit
    return !isDamaged
  }

  /// Takes in a last frame that is incomplete.
  private mutating func read(torn piece: [UInt8]) {
    guard piece.count >= 16, isAlmostOurs(piece) else { return }
    lastOwn = frame + 1
    isDamaged = isDamaged || hasBrokenCommit
  }

  private func isOurs(_ piece: [UInt8]) -> Bool { piece[8..<16].elementsEqual(salts) }

  /// Whether at least one salt is ours. In another log both salts differ, one counted and one
  /// random. No crash tears a header between them, as sectors end at multiples of eight bytes; a
  /// single differing salt is damage.
  private func isAlmostOurs(_ piece: [UInt8]) -> Bool {
    piece[8..<12].elementsEqual(salts[..<4]) || piece[12..<16].elementsEqual(salts[4...])
  }

  /// Adds bytes to the running sums, eight at a time, as the format prescribes.
  private mutating func add(_ bytes: ArraySlice<UInt8>) {
    var (first, second) = sums
    var offset = bytes.startIndex
    while offset < bytes.endIndex {
      first &+= word(bytes, offset) &+ second
      second &+= word(bytes, offset + 4) &+ first
      offset += 8
    }
    sums = (first, second)
  }

  private func word(_ bytes: ArraySlice<UInt8>, _ offset: Int) -> UInt32 {
    let value =
      UInt32(bytes[offset]) << 24 | UInt32(bytes[offset + 1]) << 16
      | UInt32(bytes[offset + 2]) << 8 | UInt32(bytes[offset + 3])
    return isBigEndian ? value : value.byteSwapped
  }

  /// Reads a number of the header, always big-endian.
  private static func number(_ bytes: [UInt8], _ offset: Int) -> UInt32 {
    bytes[offset..<(offset + 4)].reduce(0) { $0 << 8 | UInt32($1) }
  }
}
