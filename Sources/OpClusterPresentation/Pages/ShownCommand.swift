// Shows a command as people would type it, with its places visible.
// `check --expand` has a like function at the manifest's reader, for commands that were not
// submitted yet.

public import OpClusterModel

/// Returns one line: `bwa mem 'ref genome.fa' ${{ item }}`, or the shell text. `values` are an
/// element's values by position in `elementKeys`; places without a value stay visible.
/// Secrets are never shown, not even to the submitter: they stay places (G39).
public func shownCommand(
  _ command: CommandSpecification, values: [String] = [], index: UInt32? = nil
) -> String {
  func text(_ text: CommandText) -> String {
    text.segments.reduce("") { result, segment in
      switch segment {
      case .literal(let literal): return result + literal
      case .value(let value, let quoting):
        guard let known = knownValue(value, values, index) else {
          return result + "${{ " + placeName(value, keys: command.elementKeys) + " }}"
        }
        return result + (quoting == .shell ? shellQuoted(known) : known)
      }
    }
  }
  // Words are quoted for people to copy; a shell text is shown as it was written.
  switch command.form {
  case .arguments(let words): return words.map { shellQuoted(text($0)) }.joined(separator: " ")
  case .shell(_, let script): return text(script)
  }
}

/// nil for a value that is known only at the worker.
private func knownValue(
  _ value: CommandText.Value, _ values: [String], _ index: UInt32?
) -> String? {
  switch value {
  case .index: index.map { "\($0)" }
  case .element(let position): values.indices.contains(position) ? values[position] : nil
  case .output, .secret: nil
  case .known(let text): text
  }
}

/// A position that the keys do not have is shown as an item, rather than not at all.
private func placeName(_ value: CommandText.Value, keys: [String]) -> String {
  switch value {
  case .index: return "index"
  case .element(let position):
    guard keys.indices.contains(position) else { return "item" }
    return keys[position] == "item" ? "item" : "matrix." + keys[position]
  case .output(let operation, let key): return "needs.\(operation).outputs.\(key)"
  case .known(let text): return text
  case .secret: return "secret"
  }
}

/// Quotes a word for a shell. Places stay unquoted, so that they are recognisable.
/// The signs that need no quotes are those that no shell treats.
func shellQuoted(_ word: String) -> String {
  let isPlain = word.utf8.allSatisfy { byte in
    switch byte {
    case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
    default: "%+,-./:=@_".utf8.contains(byte)
    }
  }
  if isPlain, !word.isEmpty { return word }
  if word.hasPrefix("${{"), word.hasSuffix("}}") { return word }
  var quoted = "'"
  // By scalars: for the shell a quote is one, whatever mark combines with it.
  for scalar in word.unicodeScalars {
    if scalar == "'" { quoted += "'\\''" } else { quoted.unicodeScalars.append(scalar) }
  }
  return quoted + "'"
}
