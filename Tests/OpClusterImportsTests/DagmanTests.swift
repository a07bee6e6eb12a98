// DAGs of DAGMan: nodes, scripts, splices, queues, and what is said of the rest.

import OpClusterModel
import Testing

@testable import OpClusterImports

@Suite struct DagmanTests {
  private static let plain = "executable = /bin/true\nqueue\n"

  private func dag(_ text: String, _ further: [String: String] = [:]) -> ImportResult {
    ImportFormat.dagman.read(
      text, ["a.sub": Self.plain].merging(further) { _, new in new })
  }

  @Test func nodesAndDependencies() throws {
    let result = dag("JOB A a.sub\njob B a.sub\nJob C a.sub\nPARENT A B CHILD C\nRETRY C 3\n")
    #expect(result["C"]?.needs.map(\.name) == ["A", "B"])
    #expect(result["C"]?.retry == ImportedOperation.Retry(count: 3))
    #expect(result["A"]?.work == .words(["/bin/true"]))
    #expect(problems(of: try #require(result.graph)).isEmpty)
  }

  @Test func submitFileMaps() throws {
    let file = """
      # a comment
      executable = bin/x
      arguments = "one 'two words' ""quoted"" 'it''s'"
      environment = "A=1 B='x y'"
      input = in.txt
      output = out.$(Process)
      initialdir = sub
      request_cpus = 4
      request_memory = 2 GB
      request_gpus = 1
      request_disk = 1G
      requirements = (Memory > 1)
      priority = 5
      max_retries = 2
      queue 10
      """
    let result = dag("JOB A b.sub\n", ["b.sub": file])
    let operation = try #require(result["A"])
    #expect(
      operation.work == .words(["/w/bin/x", "one", "two words", "\"quoted\"", "it's"]))
    #expect(operation.environment == ["A": "1", "B": "x y"])
    #expect(operation.inputFile == "/w/sub/in.txt")
    #expect(operation.workingFolder == "/w/sub")
    #expect(operation.cpus == 4 && operation.gpus == 1 && operation.memoryBytes == 2 << 30)
    #expect(operation.priority == 5 && operation.retry?.count == 2)
    #expect(operation.elements == .range(0, 9))
    #expect(result.says("request_disk", at: 11, .lost))
    #expect(result.says("requirements", at: 12, .lost))
    let text = ManifestText.of(try #require(result.graph))
    #expect(text.contains("stdout: \"/w/sub/out.${{ index }}\""))
    #expect(problems(of: try #require(result.graph)).isEmpty)
  }

  @Test(arguments: [
    ("a b  c", ["a", "b", "c"]), (#"say \"x\""#, ["say", "\"x\""]),
    (#""a 'b c' d""#, ["a", "b c", "d"]), (#""''""#, [""]),
  ]) func notationsOfArguments(text: String, words: [String]) {
    #expect(SubmitWords.arguments(text) == words)
  }

  @Test(arguments: [#""open"#, #""'open""#, #""a"b""#]) func brokenArguments(text: String) {
    #expect(SubmitWords.arguments(text) == nil)
  }

  @Test func oldEnvironment() {
    let pairs = SubmitWords.environment("A=1;B=two words;")
    #expect(pairs?.map { "\($0.name)=\($0.value)" } == ["A=1", "B=two words"])
    #expect(SubmitWords.environment("no name") == nil)
  }

  /// POST runs after a failure and decides; PRE comes first; a retry repeats all of it.
  @Test func scriptsBecomeOneCommand() throws {
    let result = dag(
      """
      JOB A a.sub
      SCRIPT PRE A before.sh $JOB
      SCRIPT POST A after.sh $RETURN $RETRY
      PRE_SKIP A 7
      RETRY A 2 UNLESS-EXIT 3
      """, ["before.sh": "", "after.sh": ""])
    let operation = try #require(result["A"])
    #expect(
      operation.work
        == .shell(
          """
          (cd /w && /w/before.sh A); PRE=$?
          [ $PRE -ne 7 ] || exit 0
          [ $PRE -eq 0 ] || exit $PRE
          (/bin/true < /dev/null); RETURN=$?
          cd /w && /w/after.sh "$RETURN" "$((OP_ATTEMPT - 1))"
          """))
    #expect(
      operation.retry?.reasons == ["exit:1-2", "exit:4-255", "signal", "timeout", "oom"])
    #expect(problems(of: try #require(result.graph)).isEmpty)
  }

  /// With several jobs the scripts stand around the array, and its failures are POST's matter.
  @Test func scriptsOfAnArray() throws {
    let result = dag(
      "JOB A b.sub\nSCRIPT POST A /bin/true\nJOB B a.sub\nPARENT A CHILD B\n",
      ["b.sub": "executable = /bin/false\nqueue 3\n"])
    #expect(result["A"]?.mayFail == true)
    #expect(
      result["A-post"]?.needs == [ImportedOperation.Need(name: "A", whenFinished: true)])
    #expect(result["B"]?.needs.map(\.name) == ["A-post"])
    let wrong = dag(
      "JOB A b.sub\nSCRIPT POST A /bin/true $RETURN\n",
      ["b.sub": "executable = /bin/false\nqueue 3\n"])
    #expect(wrong.graph == nil && wrong.says("$RETURN", at: 2, .error))
  }

  @Test func macrosOfNodes() throws {
    let file = "executable = /bin/echo\narguments = $(JOB) $(x) $(y:none) $(RETRY)\nqueue\n"
    let result = dag("JOB A b.sub\nVARS A x=\"say \\\"$(JOB)\\\"\"\n", ["b.sub": file])
    #expect(
      result["A"]?.work
        == .shell(
          "exec /bin/echo A say '\"A\"' none \"$((OP_ATTEMPT - 1))\" < /dev/null"))
  }

  @Test func itemsBecomeAnArray() throws {
    let file = "executable = /bin/echo\narguments = $(name)\nqueue name in (red, light blue)\n"
    let result = dag("JOB A b.sub\n", ["b.sub": file])
    #expect(result["A"]?.elements == .items(["red", "light", "blue"]))
    let phrases = dag(
      "JOB A b.sub\n",
      ["b.sub": "executable = /bin/echo\narguments = $(x)\nqueue x from (\none two\nthree\n)\n"])
    #expect(phrases["A.0"]?.work == .words(["/bin/echo", "one", "two"]))
    let pairs = dag(
      "JOB A b.sub\n",
      [
        "b.sub": "executable = /bin/echo\narguments = $(a) $(b) $(Process)\nqueue a,b from l.txt",
        "l.txt": "1, one\n2, two words\n",
      ])
    #expect(pairs["A.1"]?.work == .words(["/bin/echo", "2", "two", "words", "1"]))
    #expect(pairs["A"]?.needs.map(\.name) == ["A.0", "A.1"])
  }

  @Test func splicesAndSubdags() throws {
    let inner = "JOB X a.sub\nJOB Y a.sub\nPARENT X CHILD Y\n"
    let text = """
      JOB A a.sub
      SPLICE S inner.dag
      SUBDAG EXTERNAL T inner.dag
      JOB B a.sub
      PARENT A CHILD S
      PARENT S CHILD T
      PARENT T CHILD B
      PRIORITY S+X 4
      """
    let result = dag(text, ["inner.dag": inner])
    #expect(result["S_X"]?.needs.map(\.name) == ["A"])
    #expect(result["S_X"]?.priority == 4)
    #expect(result["T_X"]?.needs.map(\.name) == ["S_Y"])
    #expect(result["T"]?.needs.map(\.name) == ["T_Y"])
    #expect(result["B"]?.needs.map(\.name) == ["T"])
    #expect(problems(of: try #require(result.graph)).isEmpty)
  }

  @Test func inclusionIsBounded() {
    let result = dag("SPLICE S main\nSPLICE T main\n")
    #expect(result.graph == nil)
    #expect(result.said.contains { $0.contains("more than \(Limits.importDepth) deep") })
  }

  @Test func categoriesDoneAndRescue() throws {
    let text = """
      JOB A a.sub
      JOB B a.sub
      JOB C a.sub DONE
      JOB D a.sub NOOP
      PARENT A C CHILD B D
      CATEGORY B few
      MAXJOBS few 2
      """
    let result = dag(text, ["main.rescue001": "DONE B\n", "main.rescue002": "# r\nDONE A\n"])
    #expect(result["A"] == nil && result["C"] == nil)
    #expect(result["B"]?.needs == [])
    #expect(result["B"]?.queue == "category-few")
    #expect(result["D"]?.work == .barrier)
    #expect(result.graph?.queues == [ImportedQueue(name: "category-few", limit: 2)])
  }

  /// A misspelt command is not taken for a macro in silence; one that something names is a macro.
  @Test func unknownCommandsAreSaid() {
    let file = """
      executable = /bin/true
      folder = x
      arguments = $(Folder)
      reqest_cpus = 4
      queue
      """
    let result = dag("JOB A u.sub\n", ["u.sub": file])
    let said = result.remarks.filter { $0.reason.contains("is no command") }
    #expect(said.map(\.place.line) == [4], "\(result.remarks)")
  }

  @Test func whatDoesNotMapIsSaid() {
    let result = dag(
      "JOB A a.sub\nCONFIG x\nDOT y.dot\nABORT-DAG-ON A 3\nSCRIPT HOLD A x\nFINAL F a.sub\n")
    #expect(result.says("CONFIG", at: 2, .lost))
    #expect(result.says("DOT", at: 3, .note))
    #expect(result.says("ABORT-DAG-ON", at: 4, .lost))
    #expect(result.says("HOLD", at: 5, .lost))
    #expect(result.graph?.finally.map(\.name) == ["F"])
  }

  @Test(arguments: [
    ("JOB A a.sub\nNONSENSE\n", 2, "no statement"), ("JOB A no.sub\n", 1, "there is no file"),
    ("JOB A a.sub\nPARENT A CHILD A\n", 1, "in a circle"),
    ("JOB A a.sub\nPARENT A CHILD B\n", 2, "is no node"),
    ("JOB A u.sub\n", 1, "universe"), ("JOB A i.sub\n", 1, "is not read"),
    ("JOB A m.sub\n", 2, "deep"), ("JOB A a.sub\nJOB A a.sub\n", 2, "twice"),
  ]) func wrongFilesAreErrors(text: String, line: Int, reason: String) {
    let result = dag(
      text,
      [
        "u.sub": "universe = docker\nexecutable = /x\nqueue\n", "i.sub": "if true\nendif\n",
        "m.sub": "a = $(b)\nb = $(a)\nexecutable = $(a)\nqueue\n",
      ])
    #expect(result.graph == nil)
    #expect(
      result.remarks.contains { $0.reason.contains(reason) && $0.weight == .error },
      "\(result.said)")
    #expect(line == 0 || result.remarks.contains { $0.place.line > 0 })
  }
}
