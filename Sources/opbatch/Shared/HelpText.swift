// Rearranges a help page of ArgumentParser: common options come after the command's own, and lines
// are wrapped to the terminal. Pure.

import OpClusterPresentation

/// - Parameter width: The terminal's width; nil leaves lines unchanged.
/// Text without these sections is only wrapped. Costs its length.
func arrangedHelp(_ text: String, width: Int?) -> String {
  var sections = sections(of: text)
  if let common = sections.firstIndex(where: { $0.first == "COMMON OPTIONS:" }),
    let own = sections.lastIndex(where: { $0.first == "OPTIONS:" }), own > common
  {
    // First in, then out: the position of the common section lies before its new one.
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

/// Wraps a long line at blanks outside of brackets; continuation lines are indented below the first
/// text. A word that is longer than the width stands alone and is not broken.
private func broken(_ line: String, width: Int?) -> [String] {
  guard let width, displayWidth(line) > width else { return [line] }
  let words = ["USAGE: ", "OVERVIEW: ", "ERROR: "]
  // Continuation lines of a heading stand below its text.
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

/// Splits into words; a bracketed part is one word.
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
