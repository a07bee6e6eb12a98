// Parses selectors: `12`, `12,14-20`, `last~1`, `active`, `12/align/1-10:2`, and the filters beside
// them. Text only; the coordinator finds the things.
// Every error names the piece that is wrong and a form that is right, since selectors are typed by
// hand.

public import OpClusterModel

/// An error in a selector or a filter, and the correct form.
/// Texts of the user are made safe before they are repeated here.
public struct SelectorError: Error, Hashable, Sendable {
  public var message: String
  public var hint: String
}

public enum SelectorParser {
  /// Maximum number of pieces of a list (`12,14-20`).
  /// Far more than anybody types; a program should ask in several requests.
  public static let maximumPieces = 1_000

  /// Parses `GRAPHS[/OPERATION[/ELEMENTS]]`. The caller adds filters to the result.
  /// A shell must not have expanded `*` before: patterns are quoted on the command line.
  public static func selection(_ text: String) throws(SelectorError) -> Selection {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard !text.isEmpty else { throw wrong("an empty selector", grammar) }
    guard parts.count <= 3, !parts.contains("") else {
      throw wrong("'\(safe(text))' is not a selector", grammar)
    }
    var selection = Selection(graphs: try graphs(parts[0], of: text))
    if parts.count > 1 { selection.operation = try name(parts[1]) }
    if parts.count > 2 { selection.elements = try elements(parts[2], of: text) }
    return selection
  }

  /// Parses `failed,cancelled`.
  /// A repeated state counts once.
  public static func states(_ text: String) throws(SelectorError) -> [StateWord] {
    var states: [StateWord] = []
    for piece in text.split(separator: ",", omittingEmptySubsequences: false) {
      guard let state = StateWord(rawValue: String(piece)) else {
        let words = StateWord.allCases.map(\.rawValue)
        throw wrong(
          "'\(safe(String(piece)))' is not a state",
          nearest(String(piece), among: words).map { "did you mean '\($0)'?" }
            ?? "states are " + words.joined(separator: ", "))
      }
      if !states.contains(state) { states.append(state) }
    }
    return states
  }

  /// Parses `key=value`; the value may be empty and may contain `=`.
  /// The limit of a label's length is left to the coordinator.
  public static func label(_ text: String) throws(SelectorError) -> Label {
    guard let equals = text.firstIndex(of: "="), equals > text.startIndex else {
      throw wrong("'\(safe(text))' is not a label", "write it as key=value")
    }
    return Label(
      key: String(text[..<equals]), value: String(text[text.index(after: equals)...]))
  }

  private static let grammar =
    "a selector is a graph (12), several (12,14-20), last, last~1, active or all; then perhaps "
    + "/OPERATION and /ELEMENTS: 12/align/1-10:2, or '12/align*'"

  private static func wrong(_ message: String, _ hint: String) -> SelectorError {
    SelectorError(message: message, hint: hint)
  }

  private static func graphs(
    _ text: String, of whole: String
  ) throws(SelectorError) -> Selection.Graphs {
    switch text {
    case "all": return .all
    case "active": return .active
    case "last": return .last(back: 0)
    default: break
    }
    if text.hasPrefix("last~") {
      guard let back = number(text.dropFirst(5)) else {
        throw wrong("'\(safe(text))': a number must follow last~", "last~1 is the one before last")
      }
      return .last(back: back)
    }
    // The first character decides: graphs are numbers, everything else is one of the words.
    guard text.first?.isASCII == true, text.first?.isNumber == true else {
      let near = nearest(text, among: ["all", "active", "last"])
      throw wrong(
        "'\(safe(whole))' is not a selector", near.map { "did you mean '\($0)'?" } ?? grammar)
    }
    var ranges: [Selection.ClosedRangeOfGraphs] = []
    for run in try runs(text, of: whole, what: "graph", steps: false) {
      let last = run.first + (run.count - 1)
      ranges.append(.init(GraphID(run.first), GraphID(last)))
    }
    return .numbers(ranges)
  }

  /// As many characters as names of operations may have, and the two signs of a pattern. Anything
  /// else could not match.
  private static func name(_ text: String) throws(SelectorError) -> String {
    let isAllowed = text.utf8.allSatisfy { byte in
      switch byte {
      case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
      case UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: ":"), UInt8(ascii: "-"): true
      // A pattern of names (S97).
      case UInt8(ascii: "*"), UInt8(ascii: "?"): true
      default: false
      }
    }
    guard isAllowed, text.utf8.count <= Limits.nameBytes else {
      throw wrong(
        "'\(truncate(safe(text), to: 40))' cannot be an operation's name",
        "names are 1 to \(Limits.nameBytes) of A-Z a-z 0-9 . _ : -, with * and ? for several")
    }
    return text
  }

  private static func elements(
    _ text: String, of whole: String
  ) throws(SelectorError) -> [IndexRun] {
    try runs(text, of: whole, what: "element", steps: true)
  }

  /// Parses `N`, `N-M` and, for elements, `N-M:S`, separated by commas.
  /// - Parameter whole: The selector as it was typed, for messages.
  /// - Parameter steps: Graphs have none: each is a submission of its own.
  private static func runs(
    _ text: String, of whole: String, what: String, steps: Bool
  ) throws(SelectorError) -> [IndexRun] {
    let pieces = text.split(separator: ",", omittingEmptySubsequences: false)
    guard pieces.count <= maximumPieces else {
      throw wrong("a selector with \(pieces.count) pieces", "at most \(maximumPieces) are taken")
    }
    let example = steps ? "3, 1-10 or 1-10:2" : "12 or 14-20"
    var result: [IndexRun] = []
    for piece in pieces {
      guard let run = run(piece, steps: steps) else {
        let place = piece == whole[...] ? "" : " in '\(safe(whole))'"
        throw wrong(
          "'\(safe(String(piece)))'\(place) does not name \(what)s", "write \(example)")
      }
      guard run.count > 0 else {
        throw wrong(
          "'\(piece)' in '\(safe(whole))' is an empty range", "the smaller number comes first")
      }
      result.append(run)
    }
    return result
  }

  /// Returns nil if malformed; a run of 0 for a reversed range.
  private static func run(_ text: Substring, steps: Bool) -> IndexRun? {
    var range = text
    var step: UInt32 = 1
    if let colon = text.firstIndex(of: ":") {
      guard steps, let given = number(text[text.index(after: colon)...]), given > 0 else {
        return nil
      }
      step = given
      range = text[..<colon]
    }
    guard let dash = range.firstIndex(of: "-") else {
      guard step == 1 || range.endIndex == text.endIndex, let only = number(range) else {
        return nil
      }
      return text.endIndex == range.endIndex ? IndexRun(first: only, count: 1) : nil
    }
    guard let first = number(range[..<dash]),
      let last = number(range[range.index(after: dash)...])
    else { return nil }
    guard first <= last else { return IndexRun(first: first, count: 0) }
    // A range over all 2³² numbers has a count that does not fit.
    let (count, overflow) = ((last - first) / step).addingReportingOverflow(1)
    return overflow ? nil : IndexRun(first: first, count: count, step: step)
  }

  /// Digits only: no sign, no blanks.
  private static func number(_ text: Substring) -> UInt32? {
    guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
    return UInt32(text)
  }
}

/// For messages and titles that repeat a selection.
extension Selection {
  /// The path in the form that `SelectorParser.selection` reads, without the filters.
  public var path: String {
    var text: String
    switch graphs {
    case .all: text = "all"
    case .active: text = "active"
    case .last(let back): text = back == 0 ? "last" : "last~\(back)"
    case .numbers(let ranges):
      text = ranges.map { range in
        range.first == range.last
          ? "\(range.first.number)" : "\(range.first.number)-\(range.last.number)"
      }.joined(separator: ",")
    }
    guard let operation else { return text }
    text += "/" + safe(operation)
    guard !elements.isEmpty else { return text }
    return text + "/" + elements.map(\.text).joined(separator: ",")
  }
}

/// The inverse of the parser for one piece.
extension IndexRun {
  /// `3`, `1-10`, `1-9:2`.
  public var text: String {
    guard count > 1 else { return "\(first)" }
    // Wrapping arithmetic: a run from outside may not fit, and is only shown.
    let last = first &+ (count - 1) &* step
    return "\(first)-\(last)" + (step == 1 ? "" : ":\(step)")
  }
}
