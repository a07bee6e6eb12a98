// A command as people would type it, with the places for later values made visible.

public import OpClusterModel

/// One line: `bwa mem 'ref genome.fa' ${{ item }}`, or the shell text.
public func shownCommand(_ command: CommandSpecification) -> String {
  switch command.form {
  case .arguments(let words):
    words.map { shellQuoted(shownText($0, keys: command.elementKeys)) }.joined(separator: " ")
  case .shell(_, let text): shownText(text, keys: command.elementKeys)
  }
}

private func shownText(_ text: CommandText, keys: [String]) -> String {
  text.segments.reduce("") { result, segment in
    switch segment {
    case .literal(let literal): result + literal
    case .value(let value, _): result + "${{ " + placeName(value, keys: keys) + " }}"
    }
  }
}

private func placeName(_ value: CommandText.Value, keys: [String]) -> String {
  switch value {
  case .index: return "index"
  case .element(let position):
    guard keys.indices.contains(position) else { return "item" }
    return keys[position] == "item" ? "item" : "matrix." + keys[position]
  case .output(let operation, let key): return "needs.\(operation).outputs.\(key)"
  }
}

/// A word as a shell would read it back. Places stay unquoted, so that they can be seen as such.
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
  for character in word {
    if character == "'" { quoted += "'\\''" } else { quoted.append(character) }
  }
  return quoted + "'"
}
