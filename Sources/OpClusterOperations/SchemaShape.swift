// The findings of a schema probe about one value. Used by one thread at a time.

/// A tree of keys and types.
final class SchemaShape {
  /// A plain type, or the name of a type that cannot be inspected.
  var name = ""
  /// The fields of an object; the description marks optional keys with `?`.
  private var fields: [String: SchemaShape] = [:]
  private var optionalKeys: Set<String> = []
  /// The elements of a list, by position; a list of any length has one.
  private var elements: [SchemaShape] = []
  /// Whether it is a dictionary, with the elements key and value.
  var isMap = false

  func field(_ key: String) -> SchemaShape {
    if let known = fields[key] { return known }
    let shape = SchemaShape()
    fields[key] = shape
    return shape
  }

  func markOptional(_ key: String) {
    _ = field(key)
    optionalKeys.insert(key)
  }

  func addElement() -> SchemaShape {
    let shape = SchemaShape()
    elements.append(shape)
    return shape
  }

  /// Sorted, so that the order of declarations does not matter.
  var description: String {
    var text = name
    if !fields.isEmpty {
      let parts = fields.sorted { $0.key < $1.key }.map { key, shape in
        "\(key)\(optionalKeys.contains(key) ? "?" : ""):\(shape.description)"
      }
      text += "{" + parts.joined(separator: ",") + "}"
    }
    if !elements.isEmpty {
      let parts = elements.map(\.description)
      text += (isMap ? "map[" : "[") + parts.joined(separator: ",") + "]"
    }
    return text
  }
}
