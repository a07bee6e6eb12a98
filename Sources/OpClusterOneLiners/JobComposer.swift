// Makes the command of each job from the template and the job's arguments, as GNU parallel would:
// values are inserted as words, never as text. Pure.

/// The arguments of one job: what one or several records of the input gave.
package struct JobArguments: Hashable, Sendable {
  /// Each with one value for each input source or column.
  package var records: [[String]]
  /// The job's number, from 1.
  package var sequence: Int
  /// The number of the place in which it runs, from 1; 0: not known.
  package var slot: Int

  package init(records: [[String]], sequence: Int, slot: Int = 0) {
    self.records = records
    self.sequence = sequence
    self.slot = slot
  }

  /// All values, one after the other.
  package var flat: [String] { records.count == 1 ? records[0] : records.flatMap { $0 } }
}

/// The command of one job.
package struct ComposedJob: Hashable, Sendable {
  package var arguments: JobArguments
  /// What a shell would run, for a shell and for people.
  package var text: String
  /// The program and its arguments, where no shell is needed.
  package var words: [String]?
}

/// What a command is made of, for all jobs.
package struct JobComposer: Sendable {
  /// How several records are put into one command.
  package enum Repetition: Hashable, Sendable {
    /// `{}` is all of them.
    case none
    /// As for `none`, and as many records as fit (`-m`).
    case values
    /// Words with a replacement string are repeated for each (`-X`).
    case words
  }

  private let template: ReplacementTemplate
  /// The words of `template`, if no shell is needed for them.
  private let plainWords: [ReplacementTemplate]?
  private let repetition: Repetition
  private let names: [String]
  /// The input is commands: what was read is run as it is.
  private let runsInput: Bool
  private let quotesTemplate: Bool

  /// - Parameters:
  ///   - command: The words that were typed; none: the input is commands.
  ///   - names: The headers of the input sources, in their order.
  ///   - appends: Whether the arguments are appended to a command without a replacement string.
  ///   - quotesTemplate: The typed words reach the program as they are (`--quote`).
  package init(
    _ command: [String], names: [String] = [], whole: String? = nil, appends: Bool = true,
    repetition: Repetition = .none, quotesTemplate: Bool = false
  ) {
    self.names = names
    self.repetition = repetition
    self.quotesTemplate = quotesTemplate
    runsInput = command.isEmpty
    if quotesTemplate {
      // Blanks inside a typed word do not separate.
      var words = command.map { ReplacementTemplate($0, names: names, whole: whole) }
      if appends, words.allSatisfy(\.isConstant) {
        words.append(ReplacementTemplate(pieces: [.value(Replacement(.all, .whole))]))
      }
      template = ReplacementTemplate(pieces: [])
      plainWords = words
      return
    }
    var text = ReplacementTemplate(command.joined(separator: " "), names: names, whole: whole)
    if runsInput {
      text = ReplacementTemplate(pieces: [.value(Replacement(.all, .whole))])
    } else if appends, text.isConstant {
      text = ReplacementTemplate(pieces: text.pieces + [.text(" "), .value(.init(.all, .whole))])
    }
    template = text
    plainWords = runsInput ? nil : Self.plainWords(text)
  }

  /// nil: a shell must read it.
  private static func plainWords(_ template: ReplacementTemplate) -> [ReplacementTemplate]? {
    for case .text(let text) in template.pieces where !ShellQuotation.isPlain(text) { return nil }
    let words = template.words
    // A first word that an argument gives may be one that only a shell knows.
    guard let first = words.first, first.pieces.count == 1,
      case .text(let program) = first.pieces[0],
      !ShellQuotation.needsShell(firstWord: program)
    else { return nil }
    return words
  }

  package var usesSlots: Bool {
    (plainWords ?? [template]).contains { $0.replacements.contains { $0.form == .slot } }
  }

  /// What a further record costs.
  package var rowCost: RowCost {
    var cost = RowCost(times: 0)
    for word in plainWords ?? template.words where !word.isConstant {
      for piece in word.pieces {
        switch piece {
        case .text(let text) where repetition == .words: cost.around += text.utf8.count
        case .text: break
        case .value: cost.times += 1
        }
      }
    }
    return cost
  }

  package func job(_ arguments: JobArguments) -> ComposedJob {
    if runsInput {
      return ComposedJob(
        arguments: arguments, text: arguments.flat.joined(separator: " "), words: nil)
    }
    guard let plainWords else {
      return ComposedJob(arguments: arguments, text: shellText(arguments), words: nil)
    }
    let words = plainWords.flatMap { argumentWords($0, arguments) ?? [] }
    let text =
      quotesTemplate
      ? words.map(ShellQuotation.word).joined(separator: " ") : shellText(arguments)
    return ComposedJob(arguments: arguments, text: text, words: words)
  }

  /// The words that one word of the template becomes for the program; nil: none, as what the shell
  /// would see of it is nothing.
  private func argumentWords(
    _ word: ReplacementTemplate, _ arguments: JobArguments
  ) -> [String]? {
    if word.isConstant || repetition != .words {
      return expanded(word, arguments.records, arguments)
    }
    return arguments.records.flatMap { expanded(word, [$0], arguments) ?? [] }
  }

  private func expanded(
    _ word: ReplacementTemplate, _ records: [[String]], _ arguments: JobArguments
  ) -> [String]? {
    var words: [String] = []
    var last = ""
    var isAny = false
    for piece in word.pieces {
      switch piece {
      case .text(let text):
        last += text
        isAny = true
      case .value(let place):
        // Several values are several words; the first and the last touch their neighbours.
        for (at, value) in values(place, records, arguments).enumerated() {
          if at > 0 {
            words.append(last)
            last = ""
          }
          last += value
          isAny = true
        }
      }
    }
    return isAny ? words + [last] : nil
  }

  /// The text for a shell: each value is a word.
  private func shellText(_ arguments: JobArguments) -> String {
    guard repetition == .words else {
      return rendered(template, arguments.records, arguments, ShellQuotation.word)
    }
    return template.words.flatMap { word in
      word.isConstant
        ? [rendered(word, arguments.records, arguments, ShellQuotation.word)]
        : arguments.records.map { rendered(word, [$0], arguments, ShellQuotation.word) }
    }.joined(separator: " ")
  }

  /// A text of the user's, such as that of `--tagstring`: values are inserted as they are.
  package func label(_ template: ReplacementTemplate, _ arguments: JobArguments) -> String {
    rendered(template, arguments.records, arguments) { $0 }
  }

  private func rendered(
    _ template: ReplacementTemplate, _ records: [[String]], _ arguments: JobArguments,
    _ quote: (String) -> String
  ) -> String {
    var text = ""
    for piece in template.pieces {
      switch piece {
      case .text(let literal): text += literal
      case .value(let place):
        let values = values(place, records, arguments)
        let isNumber = place.form == .sequence || place.form == .slot
        text += values.map { isNumber ? $0 : quote($0) }.joined(separator: " ")
      }
    }
    return text
  }

  /// The values of a place; none for an argument that is not there.
  private func values(
    _ place: Replacement, _ records: [[String]], _ arguments: JobArguments
  ) -> [String] {
    switch place.form {
    case .sequence: return [String(arguments.sequence)]
    case .slot: return [String(arguments.slot)]
    default: break
    }
    let flat = records.count == 1 ? records[0] : records.flatMap { $0 }
    switch place.position {
    case .all: return flat.map { Replacement.formed($0, place.form) }
    case .number(let number):
      let at = number > 0 ? number - 1 : flat.count + number
      return flat.indices.contains(at) ? [Replacement.formed(flat[at], place.form)] : []
    case .name(let name):
      guard let at = names.firstIndex(of: name), flat.indices.contains(at) else { return [] }
      return [Replacement.formed(flat[at], place.form)]
    }
  }
}
