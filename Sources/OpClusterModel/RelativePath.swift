// A path that stays in the folder where it begins, whoever wrote it. Pure.

/// Names with `/` between them.
public enum RelativePath {
  /// Whether it has one to ``Limits/pathDepth`` names of at most 255 bytes, none of them `.` or
  /// `..`, no byte 0, and at most ``Limits/relativePathBytes`` bytes.
  public static func isValid(_ path: some StringProtocol) -> Bool {
    let names = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    guard path.utf8.count <= Limits.relativePathBytes, names.count <= Limits.pathDepth else {
      return false
    }
    return names.allSatisfy { name in
      !name.isEmpty && name.count <= 255 && !name.contains(0)
        && !name.elementsEqual(".".utf8) && !name.elementsEqual("..".utf8)
    }
  }
}

extension StringProtocol {
  /// The names between the slashes of a path, as the kernel sees them: a mark that combines with a
  /// slash does not hide it.
  public var pathNames: [String] {
    utf8.split(separator: UInt8(ascii: "/")).map { String(decoding: $0, as: UTF8.self) }
  }
}
