// `env: {inherit: […]}`: variables of who submits, put into the submission as they are.

import Citations
import OpClusterModel
import Testing

@testable import OpClusterManifest

@Suite struct InheritTests {
  private static let mine = [
    "PATH": "/opt/conda/bin:/usr/bin", "CONDA_PREFIX": "/opt/conda", "ODD": "${{ index }} $x 'y'",
    "EMPTY": "", "LD_PRELOAD": "/x.so",
  ]

  private func value(_ compiled: Compiled, _ name: String, _ variable: String) throws -> String? {
    guard
      let text = try compiled.command(name).environment.last(where: { $0.name == variable })?.value
    else { return nil }
    return try text.segments.map { segment in
      guard case .literal(let part) = segment else { throw NotLiteral() }
      return part
    }.joined()
  }
  private struct NotLiteral: Error {}

  // In every place that says 'env'; what is written down there comes before what is inherited.
  @Test func takesThemAsTheyAre() throws {
    let compiled = compile(
      """
      version: 1
      env: {inherit: [PATH]}
      operations:
        a: {run: "true", env: {CONDA_PREFIX: /other, inherit: [CONDA_PREFIX, ODD, EMPTY], X: y}}
        b: {run: "true", env: {PATH: /bin}}
        c: {run: "true", env: {inherit: []}}
      """, variables: Self.mine)
    #expect(compiled.errors == [] && compiled.warnings == [])
    #expect(try value(compiled, "a", "PATH") == "/opt/conda/bin:/usr/bin")
    #expect(try value(compiled, "a", "CONDA_PREFIX") == "/other")
    #expect(try value(compiled, "a", "ODD") == "${{ index }} $x 'y'")
    #expect(try value(compiled, "a", "EMPTY") == "" && value(compiled, "a", "X") == "y")
    #expect(try value(compiled, "b", "PATH") == "/bin")
    #expect(try value(compiled, "c", "PATH") == "/opt/conda/bin:/usr/bin")
    for name in ["a", "b", "c"] {
      let names = try compiled.command(name).environment.map(\.name)
      #expect(!names.contains("inherit") && Set(names).count == names.count)
    }
  }

  private static func compiled(_ line: String, path: String? = nil) -> Compiled {
    var variables = mine
    if let path { variables["PATH"] = path }
    return compile(
      "version: 1\nenv: {\(line)}\noperations: {a: {run: x}}", variables: variables)
  }

  @Test func whatCannotBeInherited() {
    let wrong = [
      ("inherit: [GONE]", "the variable 'GONE' is not set here"),
      ("inherit: PATH", "'inherit' is a list of names"),
      ("inherit: {PATH: 1}", "'inherit' is a list of names"),
      ("inherit: [1A]", "cannot name a variable"), ("inherit: [[A]]", "a name in 'inherit'"),
      ("inherit: [LD_PRELOAD]", "may not be set"), ("inherit: [OPCLUSTER_FENCE]", "worker's own"),
    ]
    for (line, part) in wrong {
      let errors = Self.compiled(line).errors
      #expect(errors.count == 1 && errors[0].contains(part), "\(line): \(errors)")
    }
  }

  // Folders that depend on where one is are left behind.
  @Test(.checks("G38")) func aPathOfAPerson() throws {
    let some = Self.compiled("inherit: [PATH]", path: "bin:/usr/bin::/bin:~/bin:")
    #expect(try value(some, "a", "PATH") == "/usr/bin:/bin")
    #expect(some.errors == [] && some.warnings.count == 2)
    #expect(some.warnings[0].contains("'bin' of your PATH"))
    #expect(Self.compiled("inherit: [PATH]", path: "bin").errors.count == 1)
  }
}
