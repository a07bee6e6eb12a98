// Converts texts to values: times in seconds with fractions, numbers, addresses; and the built-in
// times to texts. An invalid value ends the program with 78 and its name. Bounds of single values
// are here; what times must hold of each other is in `CoordinatorSettings.problem` (G16).

import Logging
import OpClusterCoordinator
import OpClusterDaemon
import OpClusterHTTP
import OpClusterModel
import OpClusterZeroMQ

/// The built-in values in the form of settings. Made from the library's defaults, so that no
/// default stands in two places.
struct CoordinatorTimes {
  private let timing = Timing()
  private let settings = CoordinatorSettings.builtIn

  var heartbeat: String { Self.text(timing.heartbeat) }
  var suspect: String { Self.text(timing.suspect) }
  var lost: String { Self.text(timing.lost) }
  var resync: String { Self.text(timing.resync) }
  var grace: String { Self.text(timing.grace) }
  var orphan: String { Self.text(timing.orphan) }
  var fence: String { Self.text(timing.fence) }
  var snapshotTurns: String { "\(settings.turns)" }
  var snapshotBytes: String { "\(settings.bytes)" }
  var eventBytes: String { "\(settings.eventBytes)" }
  var diskReserve: String { "\(settings.diskReserve)" }

  /// Seconds, with the necessary decimals. The shortest text that `span` reads as the same length.
  static func text(_ span: Span) -> String {
    let seconds = span.wholeSeconds
    let rest = span.nanoseconds % 1_000_000_000
    if rest == 0 { return "\(seconds)" }
    var digits = String(String(1_000_000_000 + rest).dropFirst())
    while digits.hasSuffix("0") { digits.removeLast() }
    return "\(seconds).\(digits)"
  }
}

extension Configuration {
  /// - Throws: The first invalid value.
  /// In the order of the fields, so that the first error is always the same one.
  func settings() throws(ConfigurationProblem) -> CoordinatorSettings {
    var settings = CoordinatorSettings(
      clientEndpoint: try endpoint(.client), workerEndpoint: try endpoint(.worker),
      stateFolder: self[.state])
    if !self[.metrics].isEmpty {
      guard let address = HTTPAddress(self[.metrics]) else {
        throw problem(.metrics, "write HOST:PORT with a numeric host, as in 127.0.0.1:9420")
      }
      settings.metrics = address
    }
    settings.timing.heartbeat = try span(.heartbeat)
    settings.timing.suspect = try span(.suspect)
    settings.timing.lost = try span(.lost)
    settings.timing.resync = try span(.resync)
    settings.timing.grace = try span(.grace)
    settings.timing.orphan = try span(.orphan)
    settings.timing.fence = try span(.fence)
    settings.snapshotTurns = try count(.snapshotTurns)
    settings.snapshotBytes = try count(.snapshotBytes)
    settings.streamBytes = try count(.eventBytes)
    // Never 0: a reserve is what lets the coordinator survive a full disk (G8).
    settings.diskReserveBytes = UInt64(try count(.diskReserve))
    settings.quotas.requestsPerSecond = try count(.requestsPerSecond)
    settings.quotas.requestBytesPerSecond = try count(.requestBytesPerSecond)
    settings.quotas.pendingOperations = try count(.pendingOperations)
    settings.quotas.connections = try count(.connections)
    guard let steering = Steering(rawValue: self[.steering]) else {
      throw problem(.steering, "write own or all")
    }
    settings.steering = steering
    if let problem = settings.problem { throw ConfigurationProblem(text: problem) }
    return settings
  }

  /// The log goes to standard error; whoever starts the process decides what becomes of it.
  func logger() throws(ConfigurationProblem) -> Logger {
    do throws(DaemonLog.Problem) {
      return try DaemonLog.logger("opcoord", level: self[.logLevel], format: self[.logFormat])
    } catch {
      let setting: Setting =
        switch error {
        case .level: .logLevel
        case .format: .logFormat
        }
      throw problem(setting, "write " + error.choices)
    }
  }

  /// `EndpointError` says what is wrong; the flag's name is put in front, whatever source it came
  /// from.
  private func endpoint(_ setting: Setting) throws(ConfigurationProblem) -> Endpoint {
    do throws(EndpointError) {
      return try Endpoint(self[setting])
    } catch {
      throw ConfigurationProblem(text: "\(setting.flag): \(error)")
    }
  }

  /// At most a year, which is longer than any of these times may be. A text that is no number is
  /// refused as well.
  func span(_ setting: Setting) throws(ConfigurationProblem) -> Span {
    guard let seconds = Double(self[setting]), seconds >= 0, seconds <= 366 * 24 * 3600 else {
      throw problem(setting, "write seconds, such as 1.5")
    }
    return .fractionalSeconds(seconds)
  }

  /// 1 or more: 0 would mean something else for each of them.
  private func count(_ setting: Setting) throws(ConfigurationProblem) -> Int {
    guard let number = Int(self[setting]), number > 0 else {
      throw problem(setting, "write a whole number above 0")
    }
    return number
  }

  private func problem(_ setting: Setting, _ advice: String) -> ConfigurationProblem {
    ConfigurationProblem(text: "\(setting.flag): '\(self[setting])' is not understood; \(advice)")
  }
}
