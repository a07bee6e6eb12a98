// Help pages as they are printed: common options last, no line broken by the terminal.

import ArgumentParser
import OpClusterPresentation
import Testing

@testable import opbatch

@Suite struct HelpTextTests {
  private static let commands = [
    ["run"], ["submit"], ["check"], ["ls"], ["logs"], ["why"], ["queue", "barrier"], ["retry"],
    ["rm"], ["worker", "forget"], [],
  ]

  private func help(_ command: [String], _ width: Int?) -> String {
    do {
      // Either says the page as an error, or is the command that does.
      var page = try Opbatch.parseAsRoot(command + ["--help"])
      try page.run()
      return ""
    } catch {
      return arrangedHelp(Opbatch.fullMessage(for: error, columns: width), width: width)
    }
  }

  @Test(arguments: commands) func commonOptionsComeLast(_ command: [String]) throws {
    let text = help(command, 80)
    #expect(text.contains("USAGE: "))
    guard let common = text.firstRange(of: "COMMON OPTIONS:") else {
      #expect(command.isEmpty)
      return
    }
    let own = try #require(text.firstRange(of: "\n\nOPTIONS:"))
    #expect(own.lowerBound < common.lowerBound, "\(text)")
    #expect(text[common.lowerBound...].contains("--coordinator"))
    #expect(!text[common.upperBound...].contains("OPTIONS:"))
  }

  @Test(arguments: commands) func linesFit(_ command: [String]) {
    for width in [60, 80, 200] {
      let text = help(command, width)
      #expect(text.contains("USAGE: "))
      for line in text.split(separator: "\n") {
        // An option's own words are never broken.
        let isOneWord = !line.drop { $0 == " " }.contains(" ")
        #expect(displayWidth(String(line)) <= width || isOneWord, "\(line)")
      }
    }
  }

  @Test func nothingIsLost() {
    let text = "OVERVIEW: a\n\nUSAGE: x [<a b>] <c>\n\nCOMMON OPTIONS:\n  -a\n\nOPTIONS:\n  -b\n"
    #expect(
      arrangedHelp(text, width: nil)
        == "OVERVIEW: a\n\nUSAGE: x [<a b>] <c>\n\nOPTIONS:\n  -b\n\nCOMMON OPTIONS:\n  -a")
    #expect(
      arrangedHelp("USAGE: command [<a b>] <c>", width: 20)
        == "USAGE: command\n           [<a b>]\n           <c>")
    #expect(arrangedHelp("error: no", width: 80) == "error: no")
  }
}
