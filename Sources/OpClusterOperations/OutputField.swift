// One field of an output as JSON, for arguments of other operations. Any thread.

public import OpClusterModel

/// Converts a field of an output to a value in a JSON text.
public enum OutputField {
  /// A field of a typed value keeps its JSON. A text of a command that is a number, `true`,
  /// `false`, a list or an object in JSON keeps that form; any other text becomes a string. Returns
  /// nil if there is no such field.
  public static func json(_ key: String, of output: OperationOutput) -> String? {
    if !output.typeName.isEmpty, let field = ScalarFields.field(key, in: output.value) {
      return field
    }
    guard let text = output.pairs.last(where: { $0.key == key })?.value else { return nil }
    guard let first = text.utf8.first, let last = text.utf8.last else { return string(text) }
    let isStructure =
      (first == UInt8(ascii: "{") && last == UInt8(ascii: "}"))
      || (first == UInt8(ascii: "[") && last == UInt8(ascii: "]"))
    return isStructure && JSONSyntax.isValid(Array(text.utf8)) ? text : scalar(text)
  }

  /// A number, `true` or `false` unchanged; any other text as a string.
  public static func scalar(_ text: String) -> String {
    if text == "true" || text == "false" { return text }
    guard let first = text.utf8.first, let last = text.utf8.last,
      first == UInt8(ascii: "-") || (0x30...0x39).contains(first), (0x30...0x39).contains(last),
      JSONSyntax.isValid(Array(text.utf8))
    else { return string(text) }
    return text
  }

  /// A JSON string with quotes and escapes.
  public static func string(_ text: String) -> String {
    var json = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": json += "\\\""
      case "\\": json += "\\\\"
      case "\n": json += "\\n"
      case "\r": json += "\\r"
      case "\t": json += "\\t"
      case _ where scalar.value < 0x20:
        let digits = String(scalar.value, radix: 16)
        json += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: json.unicodeScalars.append(scalar)
      }
    }
    return json + "\""
  }
}
