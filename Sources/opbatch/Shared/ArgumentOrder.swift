// Moves common options from before the command to behind it, so that `opbatch -o json ls` works.
// Also takes short options of `map` apart. Runs before ArgumentParser.

import OpClusterOneLiners

/// The words of the command line as ArgumentParser wants them.
func arranged(_ arguments: [String]) -> [String] {
  let words = commonOptionsLast(arguments)
  guard words.first == "map" else { return words }
  return ["map"] + OptionCluster.separated(Array(words.dropFirst()))
}

/// Moves common options from before the command's name to right after it.
func commonOptionsLast(_ arguments: [String]) -> [String] {
  let options = ["--coordinator", "--keys", "--output", "-o", "--color", "--timeout"]
  let flags = ["--quiet", "-q"]
  var moved: [String] = []
  var rest = arguments[...]
  while let first = rest.first {
    if options.contains(first), rest.count > 1 {
      moved += rest.prefix(2)
      rest = rest.dropFirst(2)
    } else if flags.contains(first) || options.contains(where: { first.hasPrefix($0 + "=") }) {
      moved.append(first)
      rest = rest.dropFirst()
    } else {
      break
    }
  }
  guard !moved.isEmpty, let command = rest.first, !command.hasPrefix("-") else { return arguments }
  // The subcommand of a group follows its name.
  let isGroup = Opbatch.groups.contains(command)
  let depth = isGroup && rest.count > 1 && !rest[rest.startIndex + 1].hasPrefix("-") ? 2 : 1
  return Array(rest.prefix(depth)) + moved + Array(rest.dropFirst(depth))
}
