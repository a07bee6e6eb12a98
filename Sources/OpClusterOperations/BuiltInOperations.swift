// `sleep`, a type of every program. (`noop`, the other one, has no code: the registry ends it at
// once; it measures the costs of running an operation, S4.)

/// `sleep`: waits, unless it is asked to stop. Its JSON is a number of seconds, or `{"seconds":
/// 0.5}`, or `{"milliseconds": 500}`.
public struct SleepOperation: BuiltInOperation {
  public static let typeName = "sleep"
  /// A year.
  static let longest = 31_536_000.0
  /// 0…31,536,000.
  public var seconds: Double

  public init(seconds: Double) { self.seconds = seconds }

  private enum CodingKeys: CodingKey {
    case seconds, milliseconds
  }

  public init(from decoder: any Decoder) throws {
    let seconds: Double
    do {
      seconds = try Self.seconds(in: decoder)
    } catch {
      throw Self.expectation
    }
    guard (0...Self.longest).contains(seconds) else { throw Self.expectation }
    self.seconds = seconds
  }

  private static func seconds(in decoder: any Decoder) throws -> Double {
    if let bare = try? decoder.singleValueContainer().decode(Double.self) { return bare }
    let container = try decoder.container(keyedBy: CodingKeys.self)
    if let seconds = try container.decodeIfPresent(Double.self, forKey: .seconds) {
      return seconds
    }
    return try container.decode(Double.self, forKey: .milliseconds) / 1_000
  }

  private static var expectation: BadArgument {
    BadArgument(
      "sleep wants a number of seconds from 0 to \(Int(longest)), {\"seconds\": N} or "
        + "{\"milliseconds\": N}")
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(seconds, forKey: .seconds)
  }

  public func main(_ context: OperationContext) async throws -> NoOutput {
    try await Task.sleep(for: .seconds(seconds))
    return NoOutput()
  }
}

/// Types that accept several forms of arguments: they have no fingerprint.
protocol BuiltInOperation: RegisteredOperation {}
