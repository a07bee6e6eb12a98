// The gpus of a machine by name: the notation of lists, the gpus that a process may use, and the
// shares of several workers on one machine. Pure; used by workers and their starters.

/// The setting for the gpus that a worker gives to operations.
public enum GPUSetting: Hashable, Sendable {
  /// All gpus of the machine.
  case found
  /// Operations cannot ask for gpus, and each sees all of them.
  case unmanaged
  case count(Int)
  case list([String])

  /// Parses `auto`, `unmanaged`, a number, or names separated by commas. The last name may have a
  /// comma behind it: `2,` is the gpu with index 2, `2` means two gpus. nil for any other text.
  public init?(_ text: String) {
    if text == "auto" {
      self = .found
    } else if text == "unmanaged" {
      self = .unmanaged
    } else if text.utf8.allSatisfy(Self.isDigit), let count = Int(text),
      count <= Limits.gpusPerWorker
    {
      self = .count(count)
    } else {
      var names = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
      guard names.count > 1 else { return nil }
      if names.last == "" { names.removeLast() }
      guard Self.areNames(names) else { return nil }
      self = .list(names)
    }
  }

  /// The accepted forms, for an error message.
  public static let forms =
    "a number up to \(Limits.gpusPerWorker), indices such as 0,2,3, auto, or unmanaged"

  /// Returns the names, given those of the machine; nil if gpus are unmanaged.
  public func names(found: [String]) -> [String]? {
    switch self {
    case .found: found.isEmpty ? nil : Array(found.prefix(Limits.gpusPerWorker))
    case .unmanaged: nil
    case .count(let count):
      found.count >= count ? Array(found.prefix(count)) : (0..<count).map { "\($0)" }
    case .list(let names): names
    }
  }

  /// Formats a list so that ``init(_:)`` parses it back.
  public static func text(of names: [String]) -> String {
    names.isEmpty ? "0" : names.joined(separator: ",") + ","
  }

  /// Returns the gpus that this process may use: those of `CUDA_VISIBLE_DEVICES`, else one per
  /// device. As in CUDA itself, the first invalid name ends the list.
  /// - Parameter devices: Names of files in `/dev`.
  public static func present(visible: String?, devices: [String]) -> [String] {
    if let visible {
      let names = visible.split(separator: ",", omittingEmptySubsequences: false)
        .map(String.init).prefix(Limits.gpusPerWorker).prefix(while: isName)
      return Set(names).count == names.count ? Array(names) : []
    }
    let count = devices.count { device in
      guard device.hasPrefix("nvidia") else { return false }
      let number = device.utf8.dropFirst(6)
      return !number.isEmpty && number.allSatisfy(isDigit)
    }
    return (0..<min(count, Limits.gpusPerWorker)).map { "\($0)" }
  }

  /// Returns the gpus of one worker, counted from 0, if workers share them as evenly as possible.
  public static func share(of names: [String], worker: Int, among workers: Int) -> [String] {
    Array(names[names.count * worker / workers..<names.count * (worker + 1) / workers])
  }

  /// Whether the names are valid, distinct and not too many.
  public static func areNames(_ names: [String]) -> Bool {
    names.count <= Limits.gpusPerWorker && names.allSatisfy(isName)
      && Set(names).count == names.count
  }

  /// Whether the text is an index or a driver name: `GPU-8932f937-d72c`, `MIG-…`.
  private static func isName(_ text: String) -> Bool {
    if (1...9).contains(text.utf8.count), text.utf8.allSatisfy(isDigit) { return true }
    guard text.hasPrefix("GPU-") || text.hasPrefix("MIG-"), text.utf8.count <= 96 else {
      return false
    }
    return text.utf8.allSatisfy { byte in
      isDigit(byte) || (0x61...0x7A).contains(byte | 0x20) || "-/".utf8.contains(byte)
    }
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}
