// The types that every worker has: `noop`, which measures what running an operation costs (S4), and
// `sleep`, which waits.

import OpClusterModel

/// `noop`: does nothing and leaves nothing.
enum NoOperation: InlineOperation {
  static let typeName = "noop"
  static func run(argument: [UInt8], inputs: [DependencyInput]) -> [UInt8] { [] }
}

/// `sleep`: waits as long as its argument says, unless it is asked to stop. The argument is a
/// number of seconds, or `{"seconds": 0.5}`, or `{"milliseconds": 500}`.
struct SleepOperation: RegisteredOperation {
  static let typeName = "sleep"
  /// A year.
  static let longest = 31_536_000.0
  let seconds: Double

  init(argument: [UInt8]) throws {
    let text = String(decoding: argument, as: UTF8.self)
    guard let seconds = Self.seconds(in: text), (0...Self.longest).contains(seconds) else {
      throw BadArgument(
        "sleep wants a number of seconds from 0 to \(Int(Self.longest)), "
          + "{\"seconds\": N} or {\"milliseconds\": N}")
    }
    self.seconds = seconds
  }

  func run(_ context: OperationContext) async throws -> [UInt8] {
    try await Task.sleep(for: .seconds(seconds))
    return []
  }

  /// Reads the argument: a flat object with one number, or the number itself.
  static func seconds(in text: String) -> Double? {
    let bare = text.filter { !$0.isWhitespace }
    guard bare.hasPrefix("{") else { return Double(bare) }
    guard bare.hasSuffix("}"), let colon = bare.firstIndex(of: ":") else { return nil }
    let number = Double(bare[bare.index(after: colon)...].dropLast())
    switch bare[bare.index(after: bare.startIndex)..<colon] {
    case "\"seconds\"": return number
    case "\"milliseconds\"": return number.map { $0 / 1_000 }
    default: return nil
    }
  }
}
