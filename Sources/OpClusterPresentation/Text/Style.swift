// The style of text on one stream: the caller decides it from the terminal, the renderers follow
// it. Values only; any thread.
// One value per stream and frame: a terminal may change its width in between.

public import OpClusterModel

/// The properties of a stream that renderers need.
public struct Style: Sendable {
  /// The columns of a line; nil for no limit (a pipe or a file).
  public var width: Int?
  /// Whether ANSI colours may be used. A state is always a word as well.
  public var usesColour: Bool
  /// Whether bars and boxes may use more than ASCII.
  public var usesUnicode: Bool
  /// The moment from which ages are counted.
  public var now: WallTime
  /// The time zone of shown times, in seconds east of UTC.
  public var secondsEastOfUTC: Int

  public init(
    width: Int? = nil, usesColour: Bool = false, usesUnicode: Bool = true,
    now: WallTime = .unknown, secondsEastOfUTC: Int = 0
  ) {
    self.width = width.map { max($0, Style.narrowest) }
    self.usesColour = usesColour
    self.usesUnicode = usesUnicode
    self.now = now
    self.secondsEastOfUTC = secondsEastOfUTC
  }

  /// The minimum width, also for narrower terminals.
  public static let narrowest = 20

  /// Wraps `text` in the escape codes of a tone if the stream uses colour.
  /// Codes are never nested: each piece is painted by itself.
  public func paint(_ text: String, _ tone: Tone) -> String {
    guard usesColour, let code = tone.code, !text.isEmpty else { return text }
    return "\u{1b}[\(code)m\(text)\u{1b}[0m"
  }
}

/// A colour by its meaning.
/// Renderers name meanings; only this table knows colours.
public enum Tone: Sendable {
  case plain, strong, faint, good, bad, warning, active

  var code: String? {
    switch self {
    case .plain: nil
    case .strong: "1"
    case .faint: "2"
    case .good: "32"
    case .bad: "31"
    case .warning: "33"
    case .active: "36"
    }
  }
}

extension StateWord {
  public var tone: Tone {
    switch self {
    case .declared, .waiting, .held: .faint
    case .ready, .dispatched: .plain
    case .executing: .active
    case .stopping, .cancelled, .skipped: .warning
    case .succeeded: .good
    case .failed, .timedOut, .lost: .bad
    }
  }
}

extension GraphRow.State {
  public var tone: Tone {
    switch self {
    case .running: .active
    case .suspended, .cancelled: .warning
    case .succeeded: .good
    case .failed: .bad
    }
  }
}

extension WorkerRow.State {
  public var tone: Tone {
    switch self {
    case .connected: .good
    case .suspect, .draining: .warning
    case .away, .down: .bad
    }
  }
}
