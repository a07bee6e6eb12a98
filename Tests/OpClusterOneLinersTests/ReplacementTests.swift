// Replacement strings and what they become. The expected texts are what GNU parallel 20221122
// prints with --dry-run.

import OpClusterOneLiners
import Testing

/// What would run for records of arguments.
func text(
  _ command: [String], _ records: [[String]], sequence: Int = 1, slot: Int = 1,
  names: [String] = [], repetition: JobComposer.Repetition = .none, quotes: Bool = false
) -> String {
  JobComposer(command, names: names, repetition: repetition, quotesTemplate: quotes)
    .job(JobArguments(records: records, sequence: sequence, slot: slot)).text
}

@Suite struct ReplacementTests {
  @Test(
    arguments: [
      ("a/b.c", "b.c", "a", "b", "a/b"), ("d", "d", ".", "d", "d"), ("/e", "e", "/", "e", "/e"),
      (".", ".", ".", "", ""), ("x.y/z", "z", "x.y", "z", "x.y/z"), ("a.b/", "", ".", "", "a.b/"),
      (".hid", ".hid", ".", "", ""), ("d.", "d.", ".", "d", "d"),
      ("a.tar.gz", "a.tar.gz", ".", "a.tar", "a.tar"),
      ("a//b", "b", "a", "b", "a//b"), ("//", "", "/", "", "//"), ("ü/é.ß", "é.ß", "ü", "é", "ü/é"),
    ])
  func forms(value: String, base: String, folder: String, stem: String, withoutExtension: String) {
    #expect(Replacement.formed(value, .whole) == value)
    #expect(Replacement.formed(value, .baseName) == base)
    #expect(Replacement.formed(value, .folder) == folder)
    #expect(Replacement.formed(value, .baseNameWithoutExtension) == stem)
    #expect(Replacement.formed(value, .withoutExtension) == withoutExtension)
  }

  @Test func places() {
    #expect(text(["echo"], [["a"]]) == "echo a")
    #expect(text(["echo", "{#}-{%}"], [["a"]], sequence: 7, slot: 3) == "echo 7-3")
    #expect(text(["echo", "{2}", "{1/}", "{-1}", "{3}"], [["x/a", "b"]]) == "echo b a b ")
    #expect(text(["echo", "{n}-{1}"], [["a", "b"]], names: ["x", "n"]) == "echo b-a")
    #expect(text(["echo", "{}"], [["a b"], ["c"]]) == "echo 'a b' c")
    #expect(text(["echo", "{1}-{2}"], [["a"], ["b"]]) == "echo a-b")
    #expect(text(["echo", "hi"], [[]]) == "echo hi ")
    // What is none of parallel's stays.
    #expect(text(["echo", "{x}", "{", "}", "{0}", "{1 }"], [["a"]]) == "echo {x} { } {0} {1 } a")
  }

  @Test func otherMarks() {
    let composer = JobComposer(["echo", ",, {} {.}"], whole: ",,")
    let job = composer.job(JobArguments(records: [["a.b"]], sequence: 1))
    #expect(job.text == "echo a.b {} a")
  }

  @Test func repetition() {
    let records = [["a"], ["b c"]]
    #expect(text(["echo", "x{}y", "z"], records, repetition: .words) == "echo xay x'b c'y z")
    #expect(text(["echo", "x{}y", "z"], records, repetition: .values) == "echo xa 'b c'y z")
    let words = JobComposer(["echo", "x{}y", "z"], repetition: .words)
      .job(JobArguments(records: records, sequence: 1)).words
    #expect(words == ["echo", "xay", "xb cy", "z"])
  }

  @Test func inputOfCommands() {
    let job = JobComposer([]).job(JobArguments(records: [["echo $HOME; ls"]], sequence: 1))
    #expect(job.text == "echo $HOME; ls")
    #expect(job.words == nil)
  }
}

@Suite struct ShellQuotationTests {
  @Test(
    arguments: [
      ("", "''"), ("a", "a"), ("a b", "'a b'"), ("it's", #"'it'"'"'s'"#), ("'", #""'""#),
      ("$(x)", "'$(x)'"), ("-n", "-n"), ("a\nb", "'a\nb'"), ("ü", "'ü'"), ("a=b", "'a=b'"),
      ("'a'", #""'"'a'"'""#), ("\\", "'\\'"), ("a'\u{301}b", "'a'\"'\"'\u{301}b'"),
    ])
  func words(value: String, quoted: String) { #expect(ShellQuotation.word(value) == quoted) }

  @Test func whenAShellIsNeeded() {
    func words(_ command: String...) -> [String]? {
      JobComposer(command).job(JobArguments(records: [["v w"]], sequence: 1)).words
    }
    #expect(words("true", "{}") == ["true", "v w"])
    #expect(words("gzip -k {} -o {}.gz") == ["gzip", "-k", "v w", "-o", "v w.gz"])
    #expect(words("echo") == ["echo", "v w"])
    for command in [
      "echo {} > x", "a | b", "echo $HOME", "cd {}", "exit", "A=1 make", "{}", "echo '{}'", "ls *",
      "echo a; b", "~/x", "echo {a,b}", "echo #", "x{}", "echo \\a", "if", "time ls", "a\nb",
    ] { #expect(words(command) == nil, "\(command)") }
  }

  @Test func quotedTemplates() {
    let composer = JobComposer(["perl", "-e", "print \"{}\\n\""], quotesTemplate: true)
    let job = composer.job(JobArguments(records: [["a 'b"]], sequence: 1))
    #expect(job.words == ["perl", "-e", "print \"a 'b\\n\""])
    #expect(job.text == #"perl -e 'print "a '"'"'b\n"'"#)
  }
}
