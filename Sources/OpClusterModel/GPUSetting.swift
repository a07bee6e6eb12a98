// The gpus of a machine by name: how people list them, which of them a process may use, and how
// several workers of one machine share them. Pure; used by workers and by what starts them.

/// What people say of the gpus that a worker gives to operations.
public enum GPUSetting: Hashable, Sendable {
  /// Those that the machine has.
  case found
  /// Operations cannot ask for any, and each sees all that there are.
  case unmanaged
  case count(Int)
  case list([String])

  /// `auto`, `unmanaged`, a number, or names divided by commas, of which the last may have one
  /// behind it: `2,` is the gpu of that index, and `2` are two. nil: nothing of the kind.
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

  /// What it can be, for who wrote something else.
  public static let forms =
    "a number up to \(Limits.gpusPerWorker), indices such as 0,2,3, auto, or unmanaged"

  /// The names, given those that the machine has; nil: they are nobody's affair.
  public func names(found: [String]) -> [String]? {
    switch self {
    case .found: found.isEmpty ? nil : Array(found.prefix(Limits.gpusPerWorker))
    case .unmanaged: nil
    case .count(let count):
      found.count >= count ? Array(found.prefix(count)) : (0..<count).map { "\($0)" }
    case .list(let names): names
    }
  }

  /// How a list is written so that ``init(_:)`` reads the same.
  public static func text(of names: [String]) -> String {
    names.isEmpty ? "0" : names.joined(separator: ",") + ","
  }

  /// What the machine has for this process: what `CUDA_VISIBLE_DEVICES` leaves to it, else as many
  /// as there are devices. Both may be wrong: what is no name ends the list, as with CUDA itself.
  /// - Parameter devices: the names of files in `/dev`.
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

  /// The part of one of several workers, counted from 0, who share the gpus of a machine as evenly
  /// as can be.
  public static func share(of names: [String], worker: Int, among workers: Int) -> [String] {
    Array(names[names.count * worker / workers..<names.count * (worker + 1) / workers])
  }

  /// Whether they can name gpus: each fit, none twice, not too many.
  public static func areNames(_ names: [String]) -> Bool {
    names.count <= Limits.gpusPerWorker && names.allSatisfy(isName)
      && Set(names).count == names.count
  }

  /// An index, or what the driver calls it: `GPU-8932f937-d72c`, `MIG-…`.
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
