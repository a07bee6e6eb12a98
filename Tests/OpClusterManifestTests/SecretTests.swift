// G39: values that a manifest calls secret: where they are read, that they are no part of what is
// compiled but in their own place, and that no finding tells one.

import OpClusterModel
import Testing

@testable import OpClusterManifest

@Suite struct SecretTests {
  private let files = [
    "/base/key": "top\n",
    "/base/secrets.env": """
    # what the service wants
    export USER_NAME=anna
    PASSWORD="p w=d"
    EMPTY_LINE_BELOW=x

    QUOTED='it is'

    """,
  ]

  private func value(_ compiled: Compiled, _ name: String, _ variable: String) throws -> String? {
    let command = try compiled.command(name)
    guard let text = command.environment.last(where: { $0.name == variable })?.value else {
      return nil
    }
    guard text.segments.count == 1, case .value(.secret(let at), .none) = text.segments[0] else {
      Issue.record("\(variable) is no secret")
      return nil
    }
    let position = try compiled.template(name).secrets[at]
    return try compiled.submission.secrets[Int(position)]
  }

  @Test func sources() throws {
    let compiled = compile(
      """
      version: 1
      env: {SHARED: {secret: {env: TOKEN}}}
      operations:
        a: {run: "true", env: {KEY: {secret: {file: key}}, PLAIN: text}}
        b: {run: "true", env_file: secrets.env, env: {QUOTED: {secret: {env: TOKEN}}}}
        c: {run: "true"}
        d: {blocks: ["true"], env: {KEY: {secret: {file: key}}}}
      """, files: files, variables: ["TOKEN": "t0ken"])
    #expect(try value(compiled, "a", "KEY") == "top")
    #expect(try value(compiled, "a", "SHARED") == "t0ken")
    #expect(try value(compiled, "b", "USER_NAME") == "anna")
    #expect(try value(compiled, "b", "PASSWORD") == "p w=d")
    #expect(try value(compiled, "b", "QUOTED") == "t0ken")
    #expect(try value(compiled, "c", "SHARED") == "t0ken")
    #expect(try compiled.template("c").secrets.count == 1)
    // Each value once, however many operations have it.
    let secrets = try compiled.submission.secrets
    #expect(Set(secrets).count == secrets.count)
    #expect(try compiled.template("d").secrets.count == 2)
  }

  /// What is wrong is said without the value, where it stands.
  @Test(arguments: [
    ("env: {K: {secret: {env: UNSET}}}", "the variable 'UNSET' is not set here"),
    ("env: {K: {secret: {file: none}}}", "cannot read 'none'"),
    ("env: {K: {secret: {env: TOKEN, file: key}}}", "'secret' has either 'env' or 'file'"),
    ("env: {K: {secret: {}}}", "'secret' has either 'env' or 'file'"),
    ("env: {K: {hidden: true}}", "unknown key 'hidden'"),
    ("env: {PATH: {secret: {env: TOKEN}}}", "'PATH' cannot be secret"),
    ("env_file: bad.env", "line 2 of 'bad.env' is not NAME=VALUE"),
    ("env_file: none.env", "cannot read 'none.env'"),
  ])
  func findings(text: String, message: String) {
    let compiled = compile(
      "version: 1\noperations: {a: {run: \"true\", \(text)}}",
      files: ["/base/key": "hush", "/base/bad.env": "A=hush\nhush hush\n"],
      variables: ["TOKEN": "hush"])
    #expect(compiled.errors.contains { $0.contains(message) }, "\(compiled.errors)")
    for finding in compiled.result.diagnostics {
      #expect(!finding.message.contains("hush") && !(finding.hint).contains("hush"))
      #expect(finding.line == 2)
    }
  }

  /// A call has no environment.
  @Test func onlyCommandsHaveThem() {
    let compiled = compile(
      "version: 1\noperations: {a: {call: {type: noop}, env_file: secrets.env}}", files: files)
    #expect(compiled.errors.contains { $0.contains("env_file") }, "\(compiled.errors)")
  }

  /// What `check` shows of an operation names the place, not the value.
  @Test func checkShowsNone() throws {
    let compiled = compile(
      "version: 1\noperations: {a: {run: 'echo $K', env: {K: {secret: {env: TOKEN}}}}}",
      variables: ["TOKEN": "hush-hush"])
    _ = try compiled.submission
    #expect(!"\(compiled.result.expanded)".contains("hush-hush"))
    #expect(!"\(compiled.commands)".contains("hush-hush"))
  }

  /// `Limits.secretsPerGraph`, `Limits.secretBytesPerGraph`: at each and one past it.
  @Test func limits() {
    func errors(_ lines: [String]) -> [String] {
      compile(
        "version: 1\noperations: {a: {run: \"true\", env_file: many.env}}",
        files: ["/base/many.env": lines.joined(separator: "\n")]
      ).errors
    }
    let most = Limits.secretsPerGraph
    #expect(errors((0..<most).map { "K\($0)=v\($0)" }) == [])
    #expect(errors((0...most).map { "K\($0)=v\($0)" }).count == 1)
    let long = String(repeating: "x", count: Limits.secretBytesPerGraph)
    #expect(errors(["K=" + long]) == [])
    #expect(errors(["K=" + long + "x"]).count == 1)
    #expect(errors(["K=" + long, "L=y"]).count == 1)
  }
}
