// How a command names the file of a stream, and which folder the name may not leave. The client
// writes such names, the worker reads them.

/// An output's name, taken apart.
///
/// A relative name starts from the folder in which the command runs and stays beneath it; of
/// `/folder/./name` the part after the first `/./` stays beneath the part before; any other
/// absolute name leads wherever its writer wants.
public struct OutputPath: Hashable, Sendable {
  /// The folder that the name may not leave; nil: it is free.
  public var root: String?
  /// Relative to `root` if there is one.
  public var name: String

  /// - Parameter folder: in which the command runs; absolute.
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

  /// What the name of a file beneath an absolute folder begins with.
  public static func beginning(beneath folder: String) -> String {
    let parts = folder.split(separator: "/").filter { $0 != "." }
    return parts.isEmpty ? "/./" : "/\(parts.joined(separator: "/"))/./"
  }

  /// Whether a relative name surely leads out of its folder, whatever links are in that.
  public static func leadsOut(_ name: String) -> Bool {
    var depth = 0
    for part in name.split(separator: "/") where part != "." {
      depth += part == ".." ? -1 : 1
      if depth < 0 { return true }
    }
    return false
  }
}
