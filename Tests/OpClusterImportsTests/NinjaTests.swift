// Ninja files: the grammar, what a target needs, pools, response files, what is up to date.

import OpClusterModel
import Testing

@testable import OpClusterImports

@Suite struct NinjaTests {
  private static let text = """
    cflags = -O2
    rule cc
      command = cc $cflags -c $in -o $out
      description = CC $out
      depfile = $out.d
      deps = gcc
    rule link
      command = ld @$out.rsp $libs
      rspfile = $out.rsp
      rspfile_content = $in_newline
      pool = linking
    pool linking
      depth = 2
    build obj/a$ b.o: cc a.c | gen.h || order
      cflags = $cflags -g
    build obj/c.o: cc c.c
    build gen.h: cc gen.c |@ check
    build check: cc c.c
    build order: phony gen.h
    build app | app.map: link obj/a$ b.o $
        obj/c.o
      libs = -lm$:x $$HOME
    build other: cc c.c
    default app
    """

  private func ninja(
    _ text: String, _ targets: [String] = [], ages: [String: Int64] = [:], outdated: Bool = false
  ) -> ImportResult {
    var table = SourceTable(texts: ["/w/build.ninja": text])
    for name in ["a.c", "c.c", "gen.c"] { table.ages["/w/\(name)"] = 5 }
    for (name, age) in ages { table.ages["/w/\(name)"] = age }
    var importer = NinjaImport(folder: "/w")
    importer.targets = targets
    importer.onlyOutdated = outdated
    return importer.read("build.ninja", table.files)
  }

  @Test func edgesOfTheDefault() throws {
    let result = ninja(Self.text)
    let graph = try #require(result.graph, "\(result.said)")
    #expect(
      Set(graph.operations.map(\.name))
        == ["folders", "gen.h", "obj_a_b.o", "obj_c.o", "app", "check"])
    #expect(
      result["obj_a_b.o"]?.work == .shell("cc -O2 -g -c a.c -o 'obj/a b.o'"))
    #expect(result["obj_a_b.o"]?.needs.map(\.name) == ["gen.h"])
    #expect(result["obj_c.o"]?.needs.map(\.name) == ["folders"])
    #expect(result["folders"]?.work == .words(["mkdir", "-p", "obj"]))
    #expect(result["app"]?.needs.map(\.name) == ["obj_a_b.o", "obj_c.o"])
    #expect(result["app"]?.queue == "pool-linking")
    #expect(result["app"]?.inputText == "'obj/a b.o'\nobj/c.o")
    guard case .shell(let link)? = result["app"]?.work else {
      Issue.record("no command")
      return
    }
    #expect(link.contains("'ld @app.rsp -lm:x $HOME'"))
    #expect(graph.queues == [ImportedQueue(name: "pool-linking", limit: 2)])
    #expect(graph.onFailure == "stop" && graph.workingFolder == "/w")
    #expect(problems(of: graph).isEmpty)
    #expect(result.said.contains { $0.contains("deps: headers") })
  }

  @Test func targetsAreChosen() {
    #expect(ninja(Self.text, ["other"]).graph?.operations.map(\.name) == ["other"])
    #expect(ninja(Self.text, ["nothing"]).says("nothing makes 'nothing'", at: 0, .error))
  }

  @Test func upToDateEdgesAreLeftOut() throws {
    var ages: [String: Int64] = ["obj": 1, "obj/a b.o": 9, "obj/c.o": 9, "gen.h": 9, "check": 9]
    ages["app"] = 10
    ages["app.map"] = 10
    #expect(ninja(Self.text, ages: ages, outdated: true).says("everything", at: 0, .error))
    ages["obj/c.o"] = 4
    let result = ninja(Self.text, ages: ages, outdated: true)
    #expect(result.graph?.operations.map(\.name) == ["obj_c.o", "app"])
    #expect(result.said.contains { $0.contains("3 edges are up to date") })
  }

  @Test func manyUsersOfManyGetABarrier() throws {
    var text = "rule r\n  command = c $out\n"
    for at in 1...3 { text += "build i\(at): r\nbuild o\(at): r || all_i\n" }
    text += "build all_i: phony i1 i2 i3\n"
    let result = ninja(text)
    #expect(result["all_i"]?.work == .barrier)
    #expect(result["o2"]?.needs.map(\.name) == ["all_i"])
  }

  @Test func scopesOfFiles() throws {
    let table = SourceTable(texts: [
      "/w/main": "v = outer\nrule r\n  command = c $v $out\nsubninja sub\nbuild a: r\n",
      "/w/sub": "v = inner\nbuild b: r\n",
    ])
    let result = ImportFormat.ninja.read(table)
    #expect(result["a"]?.work == .shell("c outer a"))
    #expect(result["b"]?.work == .shell("c inner b"))
  }

  @Test(arguments: [
    ("build a: b\n", "no rule"), ("rule r\n", "no command"), ("build a b\n", "without ':'"),
    ("rule r\n  command = $?\n", "escapes nothing"),
    ("build a: phony b\nbuild b: phony a\n", "circle"),
    ("rule r\n  command = c\nbuild a: r gone\n", "is missing"),
    ("rule r\n  command = $command\nbuild a: r\n", "names itself"),
    ("rule r\n  command = c\n  dyndep = d\nbuild a: r\n", "dyndep"),
    ("rule r\n  command = c\n  pool = p\nbuild a: r\n", "no pool"),
    ("pool p\n  depth = x\n", "depth"), ("include main\n", "deep"), ("  x = 1\n", "indented"),
    ("build a: phony\nbuild a: phony\n", "two edges"), ("\tx\n", "tabs"),
  ]) func wrongFilesAreErrors(text: String, reason: String) {
    let result = ImportFormat.ninja.read(text)
    #expect(result.graph == nil)
    #expect(result.said.contains { $0.contains(reason) }, "\(result.said)")
  }

  @Test func pathsHaveOneForm() {
    #expect(NinjaFile.canonical("./a//b/../c") == "a/c")
    #expect(NinjaFile.canonical("../a/..") == "..")
    #expect(NinjaFile.canonical("/../a") == "/a")
    #expect(NinjaFile.canonical("a/..") == ".")
  }
}
