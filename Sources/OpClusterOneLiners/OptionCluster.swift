// Short options that stand together, `-kj4`, as GNU parallel takes them. Pure.

package enum OptionCluster {
  private static let flags = "0kmXqrtuv"
  private static let valued = "jPaNnLsdCEIl"
  private static let valuedNames: Set<String> = [
    "--arg-file", "--arg-file-sep", "--arg-sep", "--color", "--colsep", "--coordinator", "--cpus",
    "--delay", "--delimiter", "--env", "--gpus", "--halt", "--header", "--joblog", "--jobs",
    "--keys", "--label", "--max-args", "--max-chars", "--max-lines", "--max-replace-args",
    "--memory", "--queue", "--require", "--resource", "--results", "--retries", "--retry",
    "--tagstring", "--timeout", "--trim", "--wd", "--workdir",
  ]

  /// Returns the words with one short option each, up to the command.
  package static func separated(_ words: [String]) -> [String] {
    var result: [String] = []
    var rest = words[...]
    while let word = rest.first, word.hasPrefix("-"), word != "-", word != "--" {
      rest = rest.dropFirst()
      if word.hasPrefix("--") {
        result.append(word)
        if valuedNames.contains(word), let value = rest.popFirst() { result.append(value) }
        continue
      }
      guard let parts = parts(of: word) else { return result + [word] + rest }
      result += parts
      // Its value is the next word.
      if let last = parts.last, last.count == 2, let letter = last.last, valued.contains(letter),
        let value = rest.popFirst()
      {
        result.append(value)
      }
    }
    return result + rest
  }

  /// nil: a letter is none of ours.
  private static func parts(of word: String) -> [String]? {
    var parts: [String] = []
    var letters = word.dropFirst()
    while let letter = letters.popFirst() {
      if flags.contains(letter) {
        parts.append("-\(letter)")
      } else if valued.contains(letter) {
        return parts + ["-\(letter)\(letters)"]
      } else {
        return nil
      }
    }
    return parts
  }
}
