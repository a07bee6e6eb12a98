// Makeflow files: rules, variables, categories, what goes to the environment.

import OpClusterModel
import Testing

@testable import OpClusterImports

@Suite struct MakeflowTests {
  @Test func rulesAndVariables() throws {
    let result = ImportFormat.makeflow.read(
      """
      # a comment
      ECHO = /bin/echo
      OUT = "two.txt"
      export OUT
      .MAKEFLOW CATEGORY big
      CORES = 4
      MEMORY = 100
      one.txt:
      @WORD = x
      \tLOCAL $ECHO "${WORD} # no comment" 'a $b' > one.txt # a comment
      .MAKEFLOW CATEGORY small
      $(OUT) more.txt: one.txt \\
        here.txt
      \tcat one.txt | awk "{print \\$1}" > $OUT
      """, ["here.txt": ""])
    let graph = try #require(result.graph, "\(result.said)")
    let one = try #require(result["one.txt"])
    #expect(one.work == .shell("/bin/echo \"x # no comment\" 'a $b' > one.txt"))
    #expect(one.cpus == 4 && one.memoryBytes == 100 << 20 && one.labels["category"] == "big")
    let two = try #require(result["two.txt"])
    #expect(two.work == .shell("cat one.txt | awk \"{print $1}\" > two.txt"))
    #expect(two.needs.map(\.name) == ["one.txt"] && two.cpus == nil)
    #expect(one.environment == ["OUT": "two.txt"])
    #expect(result.says("LOCAL", at: 10, .lost))
    #expect(problems(of: graph).isEmpty)
  }

  @Test(arguments: [
    ("", "no rules"), ("a:\n", "no command"), ("\techo\n", "without a rule"),
    ("a: b\n\tx\n", "is missing"), ("a:\n\t$x\n", "not defined"), ("a:\n\tx\na:\n\ty\n", "two"),
    ("a: b\n\tx\nb: a\n\ty\n", "in a circle"), ("a->b:\n\tx\n", "one name"),
    ("a:\n\tMAKEFLOW x\n", "inside"), ("{}", "JX"), ("a\n", "neither"),
    (".UMBRELLA SPEC x\n", "not read"),
  ]) func wrongFilesAreErrors(text: String, reason: String) {
    let result = ImportFormat.makeflow.read(text)
    #expect(result.graph == nil)
    #expect(result.said.contains { $0.contains(reason) }, "\(result.said)")
  }
}
