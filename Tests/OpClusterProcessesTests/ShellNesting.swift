// Shell texts by chance, with values in them: well-formed ones that say what each value became, and
// others that are put together of whatever shells know. From a seed; pure.

/// A text with `${{ item }}` in it, and what `say` must print where it is run.
struct ShellNesting {
  var text = ""
  /// What comes before and behind the value, by the number that is said; nil: it is never said.
  var expected: [Int: (before: String, behind: String)?] = [:]

  static let place = "${{ item }}"
  /// Each would make the canary if it, or what is behind its quotes, were run or evaluated.
  static let hostile = [
    "$(touch${IFS}$CANARY)", "`touch${IFS}$CANARY`", "';touch${IFS}$CANARY;'",
    "\";touch${IFS}$CANARY;\"", "\ntouch${IFS}$CANARY\n", "a[$(touch${IFS}$CANARY)]",
    "}$(touch${IFS}$CANARY)", "))$(touch${IFS}$CANARY)", "EOF\n$(touch${IFS}$CANARY)",
  ]
  static let values =
    hostile + [
      "it's", "two  words", "*", "", "$HOME", "\\", "-n", "#x", ")", "~", "a\\'b\"c", "日本", "!",
      "{a,b}", "x=1", "done",
    ]
}

struct NestingMaker {
  private var state: UInt64
  private var said = 0
  private var nesting = ShellNesting()

  init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 }

  private mutating func below(_ bound: Int) -> Int {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return Int((mixed ^ (mixed >> 31)) % UInt64(bound))
  }
  mutating func pick<Element>(_ choices: [Element]) -> Element { choices[below(choices.count)] }

  // MARK: - Well-formed

  mutating func wellFormed() -> ShellNesting {
    nesting = ShellNesting()
    said = 0
    nesting.text = block(3)
    return nesting
  }

  private mutating func block(_ depth: Int) -> String {
    var text = ":\n"
    for _ in 0...below(3) { text += statement(depth) }
    return text
  }

  /// A word that holds the value, and what else it holds.
  private mutating func word() -> (String, (String, String)) {
    let bare = [
      ("", ""), ("a", "a"), ("'b c'", "b c"), ("\"d e\"", "d e"), ("\\'", "'"), ("\\\"", "\""),
      ("-x", "-x"), ("'\"'", "\""), ("\"'\"", "'"), ("'#'", "#"),
    ]
    let quoted = [
      ("", ""), ("a b", "a b"), ("'", "'"), ("\\\"", "\""), ("\\$", "$"), ("#", "#"), ("(", "("),
      ("\\\\", "\\"), ("`:`", ""),
    ]
    let isQuoted = below(2) == 0
    let (before, behind) = isQuoted ? (pick(quoted), pick(quoted)) : (pick(bare), pick(bare))
    let inner = before.0 + ShellNesting.place + behind.0
    return (isQuoted ? "\"\(inner)\"" : inner, (before.1, behind.1))
  }

  private mutating func say(_ word: String, _ expected: (String, String)?) -> String {
    said += 1
    nesting.expected[said] = .some(expected.map { (before: $0.0, behind: $0.1) })
    return "say \(said) \(word)"
  }

  private mutating func statement(_ depth: Int) -> String {
    let place = ShellNesting.place
    switch below(depth > 0 ? 17 : 5) {
    case 0:
      let (word, around) = word()
      return say(word, around) + "\n"
    case 1: return pick(Self.others)
    case 2:
      let (word, around) = word()
      return "v=\(word)\n\(say("\"$v\"", around)) # it's \(place)\n"
    case 3:
      let met = say("yes\(place)", ("yes", ""))
      return "case \(place) in \(place)) \(met);; *) \(say("no", nil))\n;; esac\n"
    case 4:
      let (word, around) = word()
      return "for v in \(word) ; do \(say("\"$v\"", around)); done\n"
    case 5: return "( \(block(depth - 1)))\n"
    case 6: return ": $( \(block(depth - 1)))\n"
    case 7: return ": \"x $( \(block(depth - 1))) y\"\n"
    case 8: return "if :; then\n\(block(depth - 1))fi\n"
    case 9: return "case q in\n r) :;;\n ( q | z ) \(block(depth - 1));; esac\n"
    case 10: return "{ \(block(depth - 1))}\n"
    case 11: return "f() {\n\(block(depth - 1))}; f\n"
    case 12: return "while :; do \(block(depth - 1))break; done\n"
    case 13: return ": \"$( \(block(depth - 1))cat <<EOF\nplain ' line\nEOF\n)\"\n"
    case 14: return "! { \(block(depth - 1))}\n"
    case 15: return "[ \(place) = x ] || \(say(place, ("", "")))\n"
    default: return ": \"${HOME}$( \(block(depth - 1)))\"\n"
    }
  }

  /// What a reading of quotes that is too simple stumbles over.
  private static let others = [
    "# don't \"stop\" `here` $(or ${there\n", ": 'a \" b $( ${ ` '\n",
    ": \"it's $((1+2)) ${HOME:-x} # no\"\n", ": ${x#y} ${x:-a'}'b}\n",
    "case a in b) : ;; (c|d) : ;; esac\n",
    "cat >/dev/null <<EOF\nit's \"$HOME\" $(echo ')' ) `:`\nEOF\n",
    "cat >/dev/null <<'E O'\n$( ` ' \" ${\nE O\n", "cat >/dev/null <<-\\X\n\t'\n\tX\n",
    "x=1; : $((x<<2)) $((x + (3*2)))\n", ": \\# \\' \\\" \\` \\$\n", "g() { :; }\n",
    ": $(case y in y) echo \")\";; esac)\n", ": 2>&1 >/dev/null </dev/null\n",
    ": a#b '#' \"#\"\n", ": $# $? $$ ${#x} ${x%%*}\n", "if :; then :; else :; fi\n",
    ": \"`echo 'x y'`\" `echo \"a\"`\n", ": $'a b'\n", ": \\\n  continued\n",
    ": a;: b&&: c||: d\n", ": $(( 1 )) ; : $( (:) )\n", "for i in 1 2; do :; done\n", "{ :; }\n",
    ": ${x:-\"q ' r\"}\n", ": \"${x:-q r}\"\n",
  ]

  // MARK: - Anything

  mutating func anything() -> ShellNesting {
    var text = ""
    for _ in 0..<(3 + below(22)) {
      text += below(4) == 0 ? ShellNesting.place : pick(Self.pieces)
    }
    return ShellNesting(text: text)
  }

  private static let pieces = [
    "'", "\"", "`", "$(", ")", "${x:-", "}", "$((", "))", "<<EOF\n", "\nEOF\n", "#", " ", "\n", ";",
    "say 1 ", "echo ", "case x in ", "x) ", ";;", " esac", "\\", "$", "(", "|", "&&", "[[ ", " ]]",
    " -gt 3", "eval ", "sh -c ", "a[", "]=1", "$'", "<<'EOF'\n", "if :;then ", " fi", "for i in ",
    " do ", " done", "{ ", "<<<", "let ", "read ", "export ", "local ", "$[", "]", "a=(", "-v ",
    "printf ", "awk ", "trap ", "!", "*", "0", "declare -i x=", "test ", "[ ", " ]", "\t", "unset ",
    "=", "+", "x", "<", "&", "bash -c ", "%s ", "f() ", "function g ", "select ",
  ]
}
