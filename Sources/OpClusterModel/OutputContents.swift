// Which contents an encoded output names. Outputs are opaque to the coordinator but for this: it
// has to know what must stay in stores, and who needs it. Pure.

extension OperationOutput {
  /// The contents that an encoded output names (field 5 of `Outputs`), in order; none if it cannot
  /// be read, which its reader is told later. Costs the fields of the output.
  package static func contents(of encoded: [UInt8]) -> [StoredContent] {
    contents(of: encoded) { _, _ in true }
  }

  /// Those that are wanted: by the name of the output file (empty: a value), as the bytes of the
  /// encoding, and whether it is a part of a typed value.
  static func contents(
    of encoded: [UInt8], where isWanted: (ArraySlice<UInt8>, _ isOfValue: Bool) -> Bool
  ) -> [StoredContent] {
    // Each is at least as long as its digest.
    if encoded.count < ContentDigest.byteCount { return [] }
    var fields = FieldWalk(encoded[...])
    var found: [(content: StoredContent, file: ArraySlice<UInt8>)] = []
    var isTyped = false
    while let field = fields.next() {
      if field.number == 3 { isTyped = field.bytes?.isEmpty == false }
      guard field.number == 5, let bytes = field.bytes else { continue }
      guard found.count < Limits.contentsPerOutput, let one = content(bytes) else { return [] }
      found.append(one)
    }
    guard fields.isWhole else { return [] }
    return found.compactMap { isWanted($0.file, isTyped) ? $0.content : nil }
  }

  /// Whether it is a typed value: its files are parts of it.
  package static func isTyped(_ encoded: [UInt8]) -> Bool {
    var fields = FieldWalk(encoded[...])
    while let field = fields.next() {
      // Fields come in the order of their numbers; any other order is no encoding of ours.
      if field.number == 3 { return field.bytes?.isEmpty == false }
      if field.number > 3 { return false }
    }
    return false
  }

  /// The encoding without the files of other names than these: a reader of one file of many is not
  /// sent the names of all. Unchanged if it cannot be read, which its reader is told later. Never
  /// empty if it was not, since no bytes mean no output: then it names one file that nobody asked
  /// for. Costs the fields of the output, each times the names.
  package static func narrowed(_ encoded: [UInt8], toFiles names: [[UInt8]]) -> [UInt8] {
    // Each names at least a digest.
    if encoded.count < ContentDigest.byteCount { return encoded }
    var fields = FieldWalk(encoded[...])
    var left: [Range<Int>] = []
    var first: Range<Int>?
    var start = 0
    while let field = fields.next() {
      defer { start = fields.position }
      guard field.number == 5, let bytes = field.bytes else { continue }
      guard let file = fileName(bytes) else { return encoded }
      if file.isEmpty || names.contains(where: { $0.elementsEqual(file) }) { continue }
      if first == nil { first = start..<fields.position }
      if let last = left.last, last.upperBound == start {
        left[left.count - 1] = last.lowerBound..<fields.position
      } else {
        left.append(start..<fields.position)
      }
    }
    guard fields.isWhole, !left.isEmpty else { return encoded }
    var narrowed: [UInt8] = []
    var next = 0
    for range in left {
      narrowed += encoded[next..<range.lowerBound]
      next = range.upperBound
    }
    narrowed += encoded[next...]
    return narrowed.isEmpty ? first.map { Array(encoded[$0]) } ?? encoded : narrowed
  }

  /// The name of the output file that a content belongs to; empty: it is a value. nil: it cannot be
  /// read.
  private static func fileName(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    var fields = FieldWalk(bytes)
    var file: ArraySlice<UInt8> = []
    while let field = fields.next() { if field.number == 3 { file = field.bytes ?? [] } }
    return fields.isWhole ? file : nil
  }

  private static func content(
    _ bytes: ArraySlice<UInt8>
  ) -> (content: StoredContent, file: ArraySlice<UInt8>)? {
    var fields = FieldWalk(bytes)
    var digest: ContentDigest?
    var size: UInt64 = 0
    var file: ArraySlice<UInt8> = []
    while let field = fields.next() {
      switch field.number {
      case 1: digest = field.bytes.flatMap { ContentDigest(bytes: $0) }
      case 2: size = field.value
      case 3: file = field.bytes ?? []
      default: continue
      }
    }
    guard fields.isWhole, let digest, size <= UInt64(Limits.contentBytes) else { return nil }
    return (StoredContent(digest: digest, size: Int64(size)), file)
  }
}

/// The fields of a message, one after the other.
private struct FieldWalk {
  struct Field {
    var number: UInt64
    /// Of a varint; else 0.
    var value: UInt64 = 0
    /// Of a field with a length.
    var bytes: ArraySlice<UInt8>?
  }

  private let bytes: ArraySlice<UInt8>
  /// Where the next field begins. An index, not what is left of the bytes: each turn walks through
  /// the outputs that end in it, and a slice of a slice costs far more than a field.
  private(set) var position: Int
  /// False once something could not be read.
  private(set) var isWhole = true

  init(_ bytes: ArraySlice<UInt8>) {
    self.bytes = bytes
    position = bytes.startIndex
  }

  mutating func next() -> Field? {
    guard isWhole, position < bytes.endIndex, let tag = varint() else { return nil }
    var field = Field(number: tag >> 3)
    switch tag & 7 {
    case 0:
      guard let value = varint() else { return nil }
      field.value = value
    case 1: guard skip(8) != nil else { return nil }
    case 5: guard skip(4) != nil else { return nil }
    case 2:
      guard let length = varint(), let bytes = skip(length) else { return nil }
      field.bytes = bytes
    default:
      isWhole = false
      return nil
    }
    return field
  }

  private mutating func skip(_ count: UInt64) -> ArraySlice<UInt8>? {
    let start = position
    guard count <= UInt64(bytes.endIndex - start) else {
      isWhole = false
      return nil
    }
    position = start + Int(count)
    return bytes[start..<position]
  }

  private mutating func varint() -> UInt64? {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while shift < 64, position < bytes.endIndex {
      let byte = bytes[position]
      position += 1
      value |= UInt64(byte & 0x7f) << shift
      if byte < 0x80 { return value }
      shift += 7
    }
    isWhole = false
    return nil
  }
}
