// The file name of a command's stream, and the folder that the name may not leave. The client
// writes such names, the worker reads them.

/// The parts of an output's name.
///
/// A relative name starts from the command's folder and stays beneath it. Of `/folder/./name` the
/// part behind the first `/./` stays beneath the part before. Any other absolute name is
/// unrestricted.
public struct OutputPath: Hashable, Sendable {
  /// The folder that the name may not leave; nil: unrestricted.
  public var root: String?
  /// The name; relative to `root` if there is one.
  public var name: String

  /// - Parameter folder: The absolute path of the command's folder.
  public init(_ text: String, in folder: String) {
    guard text.utf8.first == UInt8(ascii: "/") else {
      (root, name) = (folder, text)
      return
    }
    let bytes = Array(text.utf8)
    let mark = bytes.indices.first { bytes[$0...].starts(with: Self.mark) }
    guard let mark else {
      (root, name) = (nil, text)
      return
    }
    root = mark == 0 ? "/" : String(decoding: bytes[..<mark], as: UTF8.self)
    name = String(decoding: bytes[(mark + Self.mark.count)...], as: UTF8.self)
  }

  private static let mark = Array("/./".utf8)

  /// The whole path.
  public var path: String {
    guard let root else { return name }
    return root.utf8.last == UInt8(ascii: "/") ? root + name : "\(root)/\(name)"
  }

  /// Returns the beginning of the name of a file that stays beneath an absolute folder.
  public static func beginning(beneath folder: String) -> String {
    let parts = folder.pathNames.filter { $0 != "." }
    return parts.isEmpty ? "/./" : "/\(parts.joined(separator: "/"))/./"
  }

  /// Whether a relative name certainly leaves its folder, regardless of links.
  public static func leadsOut(_ name: String) -> Bool {
    var depth = 0
    for part in name.pathNames where part != "." {
      depth += part == ".." ? -1 : 1
      if depth < 0 { return true }
    }
    return false
  }
}
