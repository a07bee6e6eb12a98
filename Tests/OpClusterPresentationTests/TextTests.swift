// The small parts: widths, cutting, control characters, numbers and times as people read them.

import Citations
import OpClusterModel
import OpClusterPresentation
import Testing

struct TextTests {
  @Test(arguments: [
    ("abc", 3), ("", 0), ("é", 1), ("e\u{301}", 1), ("漢字", 4), ("ｱ", 1), ("Ａ", 2), ("한글", 4),
    ("🧬", 2), ("👩‍🔬", 2), ("❤️", 2), ("❤", 1), ("🇩🇪", 2), ("a\u{200b}b", 2), ("█", 1), ("…", 1),
  ]) func widthIsInColumns(_ text: String, _ width: Int) {
    #expect(displayWidth(text) == width)
  }

  @Test func cuttingKeepsWholeCharactersAndTheWidth() {
    #expect(truncate("abcdef", to: 6) == "abcdef")
    #expect(truncate("abcdef", to: 5) == "abcd…")
    #expect(truncate("abcdef", to: 5, unicode: false) == "abcd~")
    #expect(truncate("漢字漢字", to: 6) == "漢字…")
    #expect(truncate("漢字漢字", to: 5) == "漢字…")
    #expect(truncate("漢字漢字", to: 4) == "漢…")
    #expect(truncate("abc", to: 1) == "…")
    #expect(truncate("abc", to: 0) == "")
    #expect(truncate("e\u{301}e\u{301}e\u{301}", to: 2) == "e\u{301}…")
  }

  /// G38.
  @Test(.checks("G38")) func controlCharactersBecomeVisible() {
    #expect(safe("plain") == "plain")
    #expect(safe("a\u{1b}[31mb\nc\td\re\0") == "a\\x1b[31mb\\nc\\td\\re\\x00")
    #expect(safe("a\u{9b}31m\u{7f}") == "a\\x9b31m\\x7f")
    #expect(safe("abc\u{202e}def\u{2066}") == "abc\\u{202e}def\\u{2066}")
    #expect(safe("漢é🧬") == "漢é🧬")
    #expect(safeLines("a\tb\r\n\u{1b}c\n\n") == ["a       b", "\\x1bc"])
    #expect(safeLog(Array("a\tb\n\u{7}".utf8)[...]) == "a\tb\n\\x07")
    #expect(safeLog([0x61, 0xff, 0x62][...]) == "a\u{fffd}b")
  }

  @Test(
    arguments: [
      (0, "0ms"), (999, "999ms"), (1_000, "1.0s"), (3_249, "3.2s"), (9_949, "9.9s"), (9_950, "10s"),
      (59_499, "59s"), (59_500, "1m 00s"), (83_000, "1m 23s"), (3_599_999, "59m 59s"),
      (3_600_000, "1h 00m"), (7_500_000, "2h 05m"), (273_600_000, "3d 4h"), (-5, "0ms"),
      (864_000_000_000, "10,000d 0h"),
    ] as [(Int64, String)]) func durations(_ milliseconds: Int64, _ shown: String)
  {
    #expect(shownDuration(milliseconds: milliseconds) == shown)
  }

  @Test(
    arguments: [
      (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"), (10_188, "9.9 KiB"),
      (10_240, "10 KiB"), (1_048_064, "1.0 MiB"), (1 << 30, "1.0 GiB"), (.max, "8.0 EiB"),
    ] as [(Int64, String)]) func sizes(_ bytes: Int64, _ shown: String)
  {
    #expect(shownSize(bytes) == shown)
  }

  @Test func countsAndAmounts() {
    #expect(shownCount(0) == "0" && shownCount(999) == "999" && shownCount(1000) == "1,000")
    #expect(shownCount(-1_234_567) == "-1,234,567")
    #expect(shownCount(1, "stage") == "1 stage" && shownCount(2, "stage") == "2 stages")
    #expect(shownAmount(ResourceAmount(4)) == "4")
    #expect(shownAmount(ResourceAmount(tenThousandths: 5_000)) == "0.5")
    #expect(shownAmount(ResourceAmount(tenThousandths: -12_500)) == "-1.25")
    #expect(shownAmount(ResourceAmount(tenThousandths: 1)) == "0.0001")
  }

  @Test func timesAreInTheReadersZone() {
    var style = Sample.style(80)
    #expect(style.shownTime(Sample.start) == "02:40:48")
    style.now = Sample.later(seconds: 86_400)
    #expect(style.shownTime(Sample.start) == "2026-11-21 02:40:48")
    style.secondsEastOfUTC = -2 * 3600
    #expect(style.shownTime(Sample.start) == "2026-11-20 23:40:48")
    #expect(style.shownTime(.unknown) == "-")
  }

  @Test func nearNamesAreFoundAndFarOnesNot() {
    let names = ["succeeded", "failed", "needs", "io"]
    #expect(nearest("nedds", among: names) == "needs")
    #expect(nearest("faield", among: names) == "failed")
    #expect(nearest("oi", among: names) == "io")
    #expect(nearest("banana", among: names) == nil)
    #expect(nearest("", among: names) == nil)
  }

  @Test func commandsAreShownAsTyped() {
    let item = CommandText.Segment.value(.element(0), quoting: .shell)
    var arguments = CommandSpecification(
      form: .arguments([
        CommandText("bwa"), CommandText("ref genome.fa"), CommandText("it's"),
        CommandText(segments: [item]), CommandText(""),
      ]))
    arguments.elementKeys = ["item"]
    #expect(shownCommand(arguments) == "bwa 'ref genome.fa' 'it'\\''s' ${{ item }} ''")
    let output = CommandText.Segment.value(.output(operation: "a", key: "k"), quoting: .none)
    var shell = CommandSpecification(
      form: .shell(
        interpreter: ["/bin/sh", "-c"],
        text: CommandText(segments: [.literal("echo "), item, .literal(" "), output])))
    shell.elementKeys = ["sample"]
    #expect(shownCommand(shell) == "echo ${{ matrix.sample }} ${{ needs.a.outputs.k }}")
    #expect(shownCommand(shell, values: ["a b"]) == "echo 'a b' ${{ needs.a.outputs.k }}")
    let index = CommandText.Segment.value(.index, quoting: .none)
    let numbered = CommandSpecification(
      form: .arguments([CommandText(segments: [.literal("f"), index])]))
    #expect(shownCommand(numbered, index: 7) == "f7")
  }
}
