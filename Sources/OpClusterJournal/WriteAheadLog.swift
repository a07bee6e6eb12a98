// Looks at SQLite's write-ahead log before SQLite does. SQLite takes the log up to the first frame
// that does not hold and says nothing about the rest; that is right for a commit torn by a crash
// (G5), and would be a silent loss of acknowledged turns after damage further ahead (G6).
// Used by Recovery, on the calling thread, read-only. The format: sqlite.org/fileformat2.html#wal.

/// Tells a torn end from damage in the middle.
///
/// With `synchronous = FULL` a commit is synced before the next frame is written, and each life of
/// a journal begins with an empty log. What a crash can tear is therefore the last transaction
/// alone: of its frames any may be missing or half written, in whatever order, one of them marks
/// the commit, no page is among them twice, and nothing of this log lies behind them. Whatever is
/// behind the last whole commit and does not look like that, was synced once, and must hold.
struct WriteAheadLog {
  private static let headerSize = 32
  private static let frameHeaderSize = 24
  /// A transaction with more frames than this may be larger than SQLite's cache: its last frame can
  /// then repeat a page.
  private static let framesWithoutSpilling = 1_000

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
  /// The first frame that does not hold, counted from 1.
  private var broken: Int?
  /// Whether that one or one behind it marks a commit.
  private var hasBrokenCommit = false
  private var isDamaged = false

  /// Whether there is any log at all.
  static func hasFrames(_ path: String) -> Bool {
    FileSystem.size(path).map { $0 > headerSize + frameHeaderSize } ?? false
  }

  /// How many frames at the end belong to no commit: SQLite will drop them (G5).
  static func check(_ path: String) throws(JournalError) -> Int {
    guard hasFrames(path) else { return 0 }
    var log = WriteAheadLog()
    var header: [UInt8] = []
    try FileSystem.forEachPiece(of: path, first: headerSize, size: headerSize) {
      header = $0
      return false
    }
    guard log.read(header: header) else {
      throw .damaged(
        "\(path) header", because: "its checksum does not hold, yet frames follow",
        remedy: .cutLog)
    }
    var isHeader = true
    let frameSize = frameHeaderSize + log.pageSize
    try FileSystem.forEachPiece(of: path, first: headerSize, size: frameSize) { piece in
      if isHeader {
        isHeader = false
        return true
      }
      if piece.count < frameSize { log.read(torn: piece) }
      return piece.count == frameSize && log.read(frame: piece)
    }
    if log.isDamaged, let frame = log.broken {
      throw .damaged(
        "\(path) frame \(frame)",
        because: "it does not hold, yet what was written after it is there",
        remedy: .cutLog)
    }
    return max(0, log.lastOwn - log.lastCommit)
  }

  private mutating func read(header: [UInt8]) -> Bool {
    guard header.count == Self.headerSize else { return false }
    let magic = Self.number(header, 0)
    guard magic & ~1 == 0x377f_0682 else { return false }
    isBigEndian = magic & 1 == 1
    pageSize = Int(Self.number(header, 8))
    guard pageSize >= 512, pageSize <= 65_536 else { return false }
    salts = Array(header[16..<24])
    add(header[0..<24])
    return sums == (Self.number(header, 24), Self.number(header, 28))
  }

  /// Reads the next frame; false when no further frame matters.
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
      broken = frame
    }
    guard isAlmostOurs(piece) else { return true }
    lastOwn = frame
    let mayRepeat = isCommit && frame - lastCommit > Self.framesWithoutSpilling
    isDamaged = hasBrokenCommit || (!pages.insert(page).inserted && !mayRepeat)
    hasBrokenCommit = hasBrokenCommit || isCommit
    return !isDamaged
  }

  /// Takes in a last frame that was not written to its end.
  private mutating func read(torn piece: [UInt8]) {
    guard piece.count >= 16, isAlmostOurs(piece) else { return }
    lastOwn = frame + 1
    isDamaged = isDamaged || hasBrokenCommit
  }

  private func isOurs(_ piece: [UInt8]) -> Bool { piece[8..<16].elementsEqual(salts) }

  /// Both salts of another log differ, the one counted and the other drawn; no crash tears a header
  /// between them, as sectors end at multiples of eight bytes. One that differs was damaged.
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

  /// A number of the header: big-endian always.
  private static func number(_ bytes: [UInt8], _ offset: Int) -> UInt32 {
    bytes[offset..<(offset + 4)].reduce(0) { $0 << 8 | UInt32($1) }
  }
}
