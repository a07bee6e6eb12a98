// `--notify terminal`: a notification of the desktop, where the terminal knows how, else its bell.
// Pure; the text is made safe before it stands between control characters.

import OpClusterPresentation

enum TerminalNotification {
  /// How a terminal is told.
  enum Way: Equatable {
    /// OSC 9: iTerm2, WezTerm, Ghostty.
    case text
    /// OSC 99: kitty.
    case kitty
    /// OSC 777: foot, urxvt, and terminals of VTE.
    case titled
    case bell
  }

  /// - Parameter variable: Of the environment.
  static func way(_ variable: (String) -> String?) -> Way {
    // What runs inside of a multiplexer may be looked at in any terminal, or none.
    if variable("TMUX") != nil || variable("STY") != nil { return .bell }
    if variable("KITTY_WINDOW_ID") != nil { return .kitty }
    switch variable("TERM_PROGRAM") {
    case "iTerm.app", "WezTerm", "ghostty": return .text
    default: break
    }
    let terminal = variable("TERM") ?? ""
    if terminal.hasPrefix("foot") || terminal.hasPrefix("rxvt-unicode") { return .titled }
    return variable("VTE_VERSION") != nil ? .titled : .bell
  }

  /// What is written to the terminal. A bell goes along with each: people look elsewhere.
  static func bytes(_ text: String, _ way: Way) -> [UInt8] {
    // A semicolon would begin another field.
    let text = safe(truncate(text, to: 200)).replacing(";", with: ",")
    let sequence =
      switch way {
      case .text: "\u{1b}]9;\(text)\u{1b}\\"
      case .kitty: "\u{1b}]99;;\(text)\u{1b}\\"
      case .titled: "\u{1b}]777;notify;opbatch;\(text)\u{1b}\\"
      case .bell: ""
      }
    return Array((sequence + "\u{7}").utf8)
  }
}
