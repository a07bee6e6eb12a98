// The last touch to a help page of ArgumentParser: what all commands share comes after what is the
// command's own, and no line is broken by the terminal. Pure.

import OpClusterPresentation

/// - Parameter width: of the terminal; nil: there is none, and lines stay as they are.
func arrangedHelp(_ text: String, width: Int?) -> String {
  var sections = sections(of: text)
  if let common = sections.firstIndex(where: { $0.first == "COMMON OPTIONS:" }),
    let own = sections.lastIndex(where: { $0.first == "OPTIONS:" }), own > common
  {
    sections.insert(sections[common], at: own + 1)
    sections.remove(at: common)
  }
  while sections.last?.isEmpty == true { sections.removeLast() }
  return sections.map { lines in
    lines.flatMap { broken($0, width: width) }.joined(separator: "\n")
  }
  .joined(separator: "\n\n")
}

/// Lines between empty lines.
private func sections(of text: String) -> [[String]] {
  var sections: [[String]] = [[]]
  for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
    if line.isEmpty {
      sections.append([])
    } else {
      sections[sections.count - 1].append(String(line))
    }
  }
  return sections
}

/// A line that is too long, in several: broken at blanks that are in no brackets, the later ones
/// below what the first begins with.
private func broken(_ line: String, width: Int?) -> [String] {
  guard let width, displayWidth(line) > width else { return [line] }
  let words = ["USAGE: ", "OVERVIEW: ", "ERROR: "]
  let isFirst = words.first { line.hasPrefix($0) }
  let blanks = isFirst?.count ?? line.prefix { $0 == " " }.count
  let indent = String(repeating: " ", count: isFirst == "USAGE: " ? blanks + 4 : blanks)
  var lines: [String] = []
  var current = String(line.prefix(blanks))
  var isEmpty = true
  for word in pieces(line.dropFirst(blanks)) {
    if !isEmpty, displayWidth(current) + 1 + displayWidth(word) > width {
      lines.append(current)
      current = indent
      isEmpty = true
    }
    current += (isEmpty ? "" : " ") + word
    isEmpty = false
  }
  return lines + [current]
}

/// Words; what is in brackets is one of them.
private func pieces(_ text: Substring) -> [String] {
  var pieces: [String] = [""]
  var depth = 0
  for character in text {
    if character == " ", depth == 0 {
      pieces.append("")
      continue
    }
    if "[<".contains(character) { depth += 1 }
    if "]>".contains(character) { depth = max(0, depth - 1) }
    pieces[pieces.count - 1].append(character)
  }
  return pieces
}
