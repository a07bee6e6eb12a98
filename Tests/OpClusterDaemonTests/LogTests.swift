// How the daemons write moments and log lines.

import OpClusterModel
import Testing

@testable import OpClusterDaemon

@Suite struct LogTests {
  @Test(
    arguments: [
      (0, "1970-01-01T00:00:00.000Z"), (951_782_399_999, "2000-02-28T23:59:59.999Z"),
      (951_782_400_123, "2000-02-29T00:00:00.123Z"), (-1, "1969-12-31T23:59:59.999Z"),
      (1_735_689_599_999, "2024-12-31T23:59:59.999Z"),
      (4_107_542_400_001, "2100-03-01T00:00:00.001Z"),
    ] as [(Int64, String)])
  func momentsAreWritten(milliseconds: Int64, text: String) {
    #expect(UTCTime(milliseconds: milliseconds).text == text)
  }

  @Test(arguments: [
    ("plain", "\"plain\""), ("\"\\", "\"\\\"\\\\\""), ("\n\u{1b}", "\"\\u000a\\u001b\""),
    ("ü", "\"ü\""),
  ])
  func textsAreQuoted(text: String, quoted: String) {
    #expect(StandardErrorLog.quote(text) == quoted)
  }
}
