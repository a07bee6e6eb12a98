// Archives in the format of `tar`, plain files only: packed for the examples' server, unpacked by
// an example. Pure, except for files that `LocalFile` writes; any thread.
// The format is `ustar`: a block of 512 bytes for each file's header, its bytes filled up to whole
// blocks, and two empty blocks at the end.

public enum TarArchive {
  /// Bytes of a block; a header is one.
  private static let block = 512

  /// An archive of files by their names, in order.
  ///
  /// - Throws: `MaterialError` for names of more than 100 bytes.
  public static func packed(_ files: [(name: String, bytes: [UInt8])]) throws(MaterialError)
    -> [UInt8]
  {
    var archive: [UInt8] = []
    for file in files {
      guard (1...100).contains(file.name.utf8.count) else {
        throw MaterialError("'\(file.name)' is no name of 1 to 100 bytes")
      }
      archive += header(file.name, size: file.bytes.count) + file.bytes
      archive += [UInt8](repeating: 0, count: (block - file.bytes.count % block) % block)
    }
    return archive + [UInt8](repeating: 0, count: 2 * block)
  }

  /// Fields are texts at fixed places, numbers octal. Owner and time are 0, so that equal files
  /// give equal archives.
  private static func header(_ name: String, size: Int) -> [UInt8] {
    var header = [UInt8](repeating: 0, count: block)
    func octal(_ number: Int, digits: Int) -> String {
      let text = String(number, radix: 8)
      return String(repeating: "0", count: max(digits - text.count, 0)) + text
    }
    func put(_ text: String, at place: Int) {
      for (offset, byte) in text.utf8.enumerated() { header[place + offset] = byte }
    }
    put(name, at: 0)
    put("0000644", at: 100)
    // Owner and group.
    put("0000000", at: 108)
    put("0000000", at: 116)
    put(octal(size, digits: 11), at: 124)
    put(octal(0, digits: 11), at: 136)
    // The checksum counts its own field as blanks; '0' behind it is the kind of a plain file.
    put("        0", at: 148)
    put("ustar\u{0}00", at: 257)
    // Six digits, a zero and a blank, as every `tar` writes it.
    put(octal(header.reduce(0) { $0 + Int($1) }, digits: 6) + "\u{0} ", at: 148)
    return header
  }

  /// The files of an archive, in order.
  ///
  /// - Throws: `MaterialError` for an invalid or incomplete archive, or a path outside of its
  ///   folder.
  public static func files(
    in archive: [UInt8]
  ) throws(MaterialError) -> [(name: String, bytes: [UInt8])] {
    // Links, folders and other kinds are passed over. Nothing is allocated by a size that the
    // archive does not have.
    var files: [(name: String, bytes: [UInt8])] = []
    var at = 0
    // An archive ends with an empty block, or with its bytes.
    while at + block <= archive.count, archive[at] != 0 {
      let header = archive[at..<at + block]
      let name = text(header, 0..<100)
      guard Array(header[(at + 257)..<(at + 262)]) == Array("ustar".utf8),
        let size = Int(text(header, 124..<136).filter { $0 != " " }, radix: 8), size >= 0,
        at + block + size <= archive.count
      else { throw MaterialError("this is no archive of tar, or not all of it") }
      // Names from an archive must not lead anywhere else: it may come from the network.
      guard !name.hasPrefix("/"), !name.split(separator: "/").contains("..") else {
        throw MaterialError("the archive has a file '\(name)', which leads out of its folder")
      }
      let start = at + block
      // '0' or nothing is a file; folders are created for their files.
      if [0, 48].contains(header[at + 156]) {
        files.append((name, Array(archive[start..<start + size])))
      }
      at = start + (size + block - 1) / block * block
    }
    return files
  }

  /// Text up to the first zero byte; a field may be full and have none.
  private static func text(_ header: ArraySlice<UInt8>, _ field: Range<Int>) -> String {
    let start = header.startIndex
    let bytes = header[(start + field.lowerBound)..<(start + field.upperBound)]
    return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
  }
}
