// The beginning of the last lines of a log, found from its end in pieces of any size.

import Testing

@testable import opbatch

@Suite struct LastLinesTests {
  /// The last lines of a text that is read backwards in pieces.
  private func last(_ lines: UInt32, of text: String, piece: Int) -> String {
    let bytes = Array(text.utf8)
    var counter = LastLines(wanted: lines)
    var end = bytes.count
    while end > 0, !counter.isDone {
      let start = max(0, end - piece)
      counter.take(bytes[start..<end], from: Int64(start))
      end = start
    }
    return String(decoding: bytes[Int(counter.isDone ? counter.begin : 0)...], as: UTF8.self)
  }

  @Test(arguments: [1, 2, 3, 7, 100]) func theLastLines(piece: Int) {
    let text = "one\ntwo\n\nfour\nfive"
    #expect(last(1, of: text, piece: piece) == "five")
    #expect(last(2, of: text, piece: piece) == "four\nfive")
    #expect(last(3, of: text, piece: piece) == "\nfour\nfive")
    #expect(last(5, of: text, piece: piece) == text)
    #expect(last(50, of: text, piece: piece) == text)
    #expect(last(1, of: text + "\n", piece: piece) == "five\n")
    #expect(last(2, of: "a\n\n", piece: piece) == "a\n\n")
    #expect(last(1, of: "a\n\n", piece: piece) == "\n")
    #expect(last(0, of: text, piece: piece) == "")
    #expect(last(.max, of: "", piece: piece) == "")
  }
}
