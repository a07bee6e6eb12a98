// What is taken for JSON, and where the first mistake is.

import OpClusterModel
import OpClusterPresentation
import Testing

struct JSONSyntaxTests {
  @Test(arguments: [
    "null", " true ", "false", "0", "-0.5e+10", "1E3", "\"\"", "\"a\\u00e9\\n\"", "[]",
    "[ 1 , [ ] ]",
    "{}", "{ \"a\" : { \"b\" : [ 1, \"x\" ] } , \"c\":null }", "\"漢\"", "\n[1]\n",
  ]) func isJSON(_ text: String) {
    #expect(JSONSyntax.isValid(Array(text.utf8)))
  }

  @Test(arguments: [
    ("", 0), ("nul", 0), ("{a: 1}", 1), ("{\"a\" 1}", 5), ("{\"a\":1,}", 7), ("[1,]", 3), ("[1", 2),
    ("01", 1), ("-", 1), ("1.", 2), ("1e", 2), ("\"a", 2), ("\"\\x\"", 2), ("\"\\u12g4\"", 5),
    ("1 2", 2), ("'a'", 0), ("\"\n\"", 1), ("{} x", 3),
  ]) func isNot(_ text: String, _ offset: Int) {
    #expect(throws: JSONMistake.self) { try JSONSyntax.check(Array(text.utf8)) }
    do throws(JSONMistake) {
      try JSONSyntax.check(Array(text.utf8))
    } catch {
      #expect(error.offset == offset, "\(error)")
    }
  }

  @Test func depthIsBounded() {
    let most = JSONSyntax.maximumDepth
    func nested(_ depth: Int) -> [UInt8] {
      Array((String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).utf8)
    }
    #expect(JSONSyntax.isValid(nested(most + 1)))
    #expect(!JSONSyntax.isValid(nested(most + 2)))
    #expect(!JSONSyntax.isValid(Array(repeating: UInt8(ascii: "["), count: 1_000_000)))
    #expect(!JSONSyntax.isValid([0x22, 0xFF, 0x22]))
  }
}
