// The argument of a call with places for what is known only when an attempt starts: outputs of
// dependencies, values of an array's element. The client makes it, the worker fills it in; to the
// coordinator it is opaque. Value types only.

/// A JSON text with places.
public struct CallInput: Hashable, Sendable {
  public var segments: [Segment]
  /// Per-element values by position in the element's argument, as of a command.
  public var elementKeys: [String]
  public init(segments: [Segment] = [], elementKeys: [String] = []) {
    self.segments = segments
    self.elementKeys = elementKeys
  }

  public enum Segment: Hashable, Sendable {
    /// A piece of JSON as it is.
    case json(String)
    /// One JSON value, made of a text once its places are filled in.
    case value(CommandText, Form)
  }

  /// What JSON value a text becomes.
  public enum Form: UInt8, Sendable, CaseIterable {
    /// A string.
    case string = 0
    /// A number, `true` or `false` where the text is one; else a string. What the manifest writes
    /// without quotes.
    case scalar = 1
    /// What it is in JSON where that is a number, `true`, `false`, a list or an object; else a
    /// string. The text is one output of a dependency.
    case json = 2
    /// A list of what the elements of an array left, each as with `json`. The text is one output.
    case list = 3
  }
}
