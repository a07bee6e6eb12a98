// The characters that could steer the terminal of a reader of foreign text (G38). One definition
// for all output: opbatch, the logs of the daemons, findings about manifests. Pure.

extension Unicode.Scalar {
  /// Whether a terminal could execute the character or show another text: control characters of
  /// both sets, line separators, and characters that turn the reading direction.
  public var canSteerTerminal: Bool {
    switch value {
    case 0..<0x20, 0x7f..<0xa0: true
    case 0x061c, 0x200e...0x200f, 0x2028...0x202e, 0x2066...0x2069, 0xfeff: true
    default: false
    }
  }
}

extension String {
  /// Returns one line in which `replacement` stands for each character that could steer a terminal.
  public func withoutTerminalOrders(_ replacement: Unicode.Scalar = "?") -> String {
    if utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7f }) { return self }
    var result = ""
    for scalar in unicodeScalars {
      result.unicodeScalars.append(scalar.canSteerTerminal ? replacement : scalar)
    }
    return result
  }
}
