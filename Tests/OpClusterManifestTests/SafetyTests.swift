// What a manifest may not ask of a worker is told at `opbatch check`, and what is exclusive (G16,
// G38, F58).

import Citations
import OpClusterModel
import Testing

@testable import OpClusterManifest

@Suite struct SafetyTests {
  private static func errors(env line: String) -> [String] {
    compile("version: 1\nenv: {\(line)}\noperations: {a: {run: x}}").errors
  }

  // Nothing that steers the loader, no folder that depends on where one is.
  @Test(
    .checks("G38", "F58"),
    arguments: ["LD_PRELOAD: /x.so", "LD_LIBRARY_PATH: /x", "LD_: x", "GLIBC_TUNABLES: a=b"])
  func theLoaderIsNotSteered(line: String) {
    #expect(Self.errors(env: line).first?.contains("may not be set") == true)
  }

  @Test func pathsAreAbsolute() {
    #expect(Self.errors(env: "PATH: '/opt/bin:/usr/bin'") == [])
    #expect(Self.errors(env: "PATH: '${{ params.x }}'").allSatisfy { !$0.contains("absolute") })
    for path in [".", "/usr/bin:", ":/usr/bin", "/usr/bin:bin", ""] {
      #expect(
        Self.errors(env: "PATH: '\(path)'").first?.contains("absolute folders only") == true,
        "\(path)")
    }
    #expect(Self.errors(env: "OPCLUSTER_FENCE: x").count == 1)
    #expect(Self.errors(env: "LDX: x, MY_LD_: x") == [])
  }

  // Said in either place, inherited, and taken back.
  @Test(.checks("S152")) func reuse() throws {
    let compiled = compile(
      """
      version: 1
      defaults: {reuse: true}
      operations:
        a: {run: x}
        b: {run: x, reuse: false}
        c: {call: {type: t}}
      """)
    #expect(try compiled.submission.templates.map(\.isReusable) == [true, false, true])
  }

  @Test(.checks("S153")) func reproducible() throws {
    let compiled = compile(
      """
      version: 1
      operations:
        a: {run: x}
        b: {run: x, reproducible: false, replicas: 3}
      """)
    #expect(try compiled.submission.templates.map(\.isReproducible) == [true, false])
    #expect(try compiled.submission.templates.map(\.replicas) == [1, 3])
  }

  @Test func exclusive() throws {
    let compiled = compile(
      """
      version: 1
      defaults: {exclusive: true}
      operations:
        a: {run: x}
        b: {run: x, exclusive: false}
        c: {run: x, resources: {exclusive: false}}
      """)
    #expect(compiled.errors == [])
    #expect(try compiled.template("a").isExclusive)
    #expect(try !compiled.template("b").isExclusive)
    #expect(try !compiled.template("c").isExclusive)
    let other = compile(
      "version: 1\noperations: {a: {run: x, resources: {exclusive: true}}, b: {run: x}}")
    #expect(try other.template("a").isExclusive && !other.template("b").isExclusive)
    #expect(compile("version: 1\noperations: {a: {run: x, exclusive: 1}}").errors.count == 1)
  }
}
