// Files for the examples: read, written as a whole or not at all, identified by a checksum. Any
// thread.

import FoundationEssentials

public enum LocalFile {
  /// The limit of bytes to read.
  public static let largest = 256 * 1_024 * 1_024

  /// Throws for a missing file as Foundation does, and `MaterialError` for one that is too large.
  public static func bytes(of path: String) throws -> [UInt8] {
    let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? UInt64
    guard let size, size <= largest else {
      throw MaterialError("\(path) is not a file of at most \(largest) bytes")
    }
    return Array(try Data(contentsOf: URL(filePath: path)))
  }

  /// Writes a file as a whole or not at all, so that a repeated attempt finds no partial one.
  /// Creates missing folders.
  public static func write(_ bytes: [UInt8], to path: String) throws {
    try makeFolder(ofFile: path)
    try Data(bytes).write(to: URL(filePath: path), options: .atomic)
  }

  /// Replaces the target. Between the two calls it is missing for a moment.
  public static func rename(_ draft: String, to path: String) throws {
    try? FileManager.default.removeItem(atPath: path)
    try FileManager.default.moveItem(atPath: draft, toPath: path)
  }

  static func makeFolder(ofFile path: String) throws {
    guard let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return }
    try makeFolder(String(path[..<slash]))
  }

  public static func makeFolder(_ path: String) throws {
    try FileManager.default.createDirectory(
      at: URL(filePath: path), withIntermediateDirectories: true)
  }

  /// Names of the files in a folder, in order.
  public static func names(in folder: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
  }

  public static func isExecutable(_ path: String) -> Bool {
    FileManager.default.isExecutableFile(atPath: path)
  }

  /// Read when it is asked for; workers have others than the command.
  public static var currentFolder: String { FileManager.default.currentDirectoryPath }

  /// FNV-1a, as 16 digits: distinguishes files, but gives no cryptographic protection.
  public static func digest(of bytes: [UInt8]) -> String {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    let digits = String(hash, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}
