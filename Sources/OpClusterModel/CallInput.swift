// The argument of a call with places for values that are known only when an attempt starts: outputs
// of dependencies, values of an array's element. The client makes it, the worker fills it in, the
// coordinator treats it as opaque. Value types only.

/// A JSON text with places.
public struct CallInput: Hashable, Sendable {
  public var segments: [Segment]
  /// Keys of per-element values, by position in the element's argument.
  public var elementKeys: [String]
  public init(segments: [Segment] = [], elementKeys: [String] = []) {
    self.segments = segments
    self.elementKeys = elementKeys
  }

  public enum Segment: Hashable, Sendable {
    /// A piece of literal JSON.
    case json(String)
    /// One JSON value, made from a text after its places are filled in.
    case value(CommandText, Form)
  }

  /// The JSON value that a text becomes.
  public enum Form: UInt8, Sendable, CaseIterable {
    /// A string.
    case string = 0
    /// A number, `true` or `false` if the text is one, else a string. For unquoted texts.
    case scalar = 1
    /// The JSON value of the text if it is a number, `true`, `false`, a list or an object; else a
    /// string. The text is one output of a dependency.
    case json = 2
    /// A list of the outputs of an array's elements, each as with `json`. The text is one output.
    case list = 3
  }
}
