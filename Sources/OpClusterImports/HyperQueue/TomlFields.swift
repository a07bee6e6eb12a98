// A table of a TOML file by its keys, each of the kind that is wanted.

struct TomlFields {
  let table: TomlTable
  let file: String
  let line: Int
  let session: ImportSession

  func place(_ key: String) -> SourcePlace {
    SourcePlace(file, table.entries[key]?.line ?? line)
  }

  /// Refuses keys that are not known, as HyperQueue does.
  func allow(_ keys: [String]) throws(ImportStop) {
    for key in table.order where !keys.contains(key) {
      throw session.stop(place(key), "'\(key)' is not known here")
    }
  }

  private func wrong(_ key: String, _ kind: String) -> ImportStop {
    session.stop(place(key), "'\(key)' is no \(kind)")
  }

  func text(_ key: String) throws(ImportStop) -> String? {
    guard let node = table.entries[key] else { return nil }
    guard case .text(let text) = node.value else { throw wrong(key, "text") }
    return text
  }

  func integer(_ key: String) throws(ImportStop) -> Int? {
    guard let node = table.entries[key] else { return nil }
    guard case .integer(let number) = node.value else { throw wrong(key, "whole number") }
    return number
  }

  func boolean(_ key: String) throws(ImportStop) -> Bool? {
    guard let node = table.entries[key] else { return nil }
    guard case .boolean(let value) = node.value else { throw wrong(key, "truth value") }
    return value
  }

  func table(_ key: String) throws(ImportStop) -> TomlFields? {
    guard let node = table.entries[key] else { return nil }
    guard case .table(let table) = node.value else { throw wrong(key, "table") }
    return TomlFields(table: table, file: file, line: node.line, session: session)
  }

  private func items(_ key: String) throws(ImportStop) -> [TomlNode] {
    guard let node = table.entries[key] else { return [] }
    guard case .array(let array) = node.value else { throw wrong(key, "list") }
    return array.items
  }

  func tables(_ key: String) throws(ImportStop) -> [TomlFields] {
    var tables: [TomlFields] = []
    for item in try items(key) {
      guard case .table(let table) = item.value else { throw wrong(key, "list of tables") }
      tables.append(TomlFields(table: table, file: file, line: item.line, session: session))
    }
    return tables
  }

  func texts(_ key: String) throws(ImportStop) -> [String] {
    var texts: [String] = []
    for item in try items(key) {
      guard case .text(let text) = item.value else { throw wrong(key, "list of texts") }
      texts.append(text)
    }
    return texts
  }

  func integers(_ key: String) throws(ImportStop) -> [Int] {
    var numbers: [Int] = []
    for item in try items(key) {
      guard case .integer(let number) = item.value else { throw wrong(key, "list of numbers") }
      numbers.append(number)
    }
    return numbers
  }
}
