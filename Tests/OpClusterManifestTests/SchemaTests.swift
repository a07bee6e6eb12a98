// The schema against the decoder, both ways: the same keys, and for each key a value that both
// take, that has an effect, and one that both refuse.

import FoundationEssentials
import OpClusterModel
import Testing

@testable import OpClusterManifest

@Suite struct SchemaTests {
  let schema: JSONSchema
  init() throws { schema = try JSONSchema.ofManifests.get() }

  @Test(arguments: [
    (ManifestKeys.graph, ""), (ManifestKeys.settings, "definitions/opSettings"),
    (ManifestKeys.operation, "definitions/operation"),
    (ManifestKeys.parameter, "properties/params/additionalProperties/oneOf/1"),
    (ManifestKeys.queue, "properties/queues/additionalProperties"),
    (ManifestKeys.barrier, "properties/barriers/items"),
    (ManifestKeys.notification, "properties/notify/items"),
    (ManifestKeys.call, "definitions/call"), (ManifestKeys.python, "definitions/python"),
    (ManifestKeys.block, "definitions/block/anyOf/2"),
    (ManifestKeys.group, "definitions/operation/properties/group"),
    (ManifestKeys.edge, "definitions/edge"), (ManifestKeys.listedEdge, "definitions/listedEdge"),
    (ManifestKeys.array, "definitions/operation/properties/array/anyOf/1"),
    (ManifestKeys.matrix, "definitions/operation/properties/matrix"),
    (ManifestKeys.files, "definitions/operation/properties/files"),
    (ManifestKeys.resources, "definitions/resources"),
    (ManifestKeys.growing, "definitions/growing/anyOf/1"),
    (ManifestKeys.retry, "definitions/retry/anyOf/1"),
    (ManifestKeys.cancel, "definitions/cancel"), (ManifestKeys.warning, "definitions/warning"),
    (ManifestKeys.input, "definitions/input/anyOf/1"), (ManifestKeys.logs, "definitions/logs"),
  ])
  func theKeysAreTheSame(table: KeyTable, path: String) throws {
    let part = try #require(schema.root[path], "\(path)")
    let keys = try #require(part["properties"]).members.keys
    #expect(Set(keys) == Set(table.keys), "\(path)")
    #expect(keys.count == table.keys.count)
    #expect((part["additionalProperties"] == .bool(false)) != table.isOpen)
  }

  /// A manifest with a text at one place.
  private static func manifest(_ place: String, _ text: String) -> String {
    var parts = ["root": "", "settings": "", "operation": "", "queue": "", "needs": "a"]
    parts[place] = (place == "operation" ? ", " : "") + text
    return """
      version: 1
      \(parts["root"] ?? "")
      queues: {q: {\(parts["queue"] ?? "")}}
      defaults: {\(parts["settings"] ?? "")}
      operations:
        a: {run: "true", array: 1-3}
        b: {run: "true", array: 1-3, needs: \(parts["needs"] ?? "")\(parts["operation"] ?? "")}
      """
  }

  /// Place, value that is fine, and value that is not. Each list has its type written down: the
  /// compiler took half a minute to infer one expression of both.
  static let samples: [(place: String, good: String, bad: String)] =
    placed + ofSettings.flatMap { [("settings", $0.good, $0.bad), ("operation", $0.good, $0.bad)] }

  private static let placed: [(place: String, good: String, bad: String)] = [
    ("root", "$schema: x", "$schema: [x]"), ("root", "name: n", "name: 'a b'"),
    ("root", "description: d", "description: {}"), ("root", "labels: {a: 1}", "labels: {1: a}"),
    ("root", "params: {a: 1}", "params: {A: 1}"),
    ("root", "files: ['reads/*.fq']", "files: {a: b}"),
    ("operation", "inputs: {a: b}", "inputs: [a]"), ("operation", "reuse: true", "reuse: 1"),
    ("operation", "reproducible: false", "reproducible: no way"),
    ("operation", "replicas: 2", "replicas: 9"),
    (
      "root", "params: {a: {type: int, default: 1, choices: [1, 2], pattern: '.', help: h}}",
      "params: {a: {type: x}}"
    ),
    ("root", "env: {A: 1}", "env: {1A: 1}"),
    ("root", "env: {inherit: [V]}", "env: {inherit: V}"),
    ("root", "on_failure: stop", "on_failure: never"),
    ("root", "max_failures: 20%", "max_failures: -1"),
    ("root", "max_failures: 3", "max_failures: x"),
    ("root", "deadline: 1h", "deadline: 1"),
    (
      "root", "barriers: [{name: j, after: [a], before: [b], when: failed}]",
      "barriers: [{name: j}]"
    ),
    ("root", "finally: {z: {run: x}}", "finally: {}"),
    ("root", "x-anything: [1]", "y-anything: 1"),
    ("queue", "max_concurrent: 2", "max_concurrent: -1"), ("queue", "qos: utility", "qos: fast"),
    ("queue", "max_concurrent: unlimited", "max_concurrent: all"),
    ("queue", "suspended: true", "suspended: yes"), ("queue", "priority: high", "priority: [1]"),
    ("queue", "cluster_queue: big", "cluster_queue: []"),
    ("queue", "require: {zone: [a, b]}", "require: [a]"),
    ("needs", "{a: finished}", "{a: done}"),
    ("needs", "[{op: a, match: same-index}]", "[{match: all}]"),
    ("needs", "{a: {when: failed}}", "{a: {whence: failed}}"),
    ("needs", "{a: {optional: true}}", "{a: {optional: 1}}"),
    ("needs", "{a: started}", "[[a]]"),
    ("needs", "[{op: a, when: finished, optional: false}]", "1a"),
    ("root", "env_file: s.env", "env_file: {a: b}"),
    ("root", "notify: [{webhook: 'https://a', token: {env: V}, on: end}]", "notify: {run: x}"),
    ("root", "notify: [{run: x, on: [end, failure]}]", "notify: [{run: x, on: begin}]"),
    ("operation", "description: d", "description: [1]"),
    ("operation", "needs_any: a", "needs_any: {a: [1]}"), ("operation", "if: x", "if: [1]"),
    ("operation", "outputs: [k]", "outputs: k"),
    (
      "operation", "files: {in: [a], out: [b], stage: copy, skip_if_current: true}",
      "files: {inn: [a]}"
    ),
    ("operation", "allow_failure: true", "allow_failure: 1"),
    ("operation", "allow_failure: [3]", "allow_failure: [300]"),
  ]

  /// What the graph's settings and an operation both take.
  private static let ofSettings: [(good: String, bad: String)] = [
    ("queue: q", "queue: 'a b'"), ("queue: other", "queue: [a]"),
    ("priority: high", "priority: higher"),
    ("priority: 6", "priority: 1001"), ("qos: background", "qos: 1"),
    ("resources: {cpus: 0, memory: 1GiB, gpus: 0.5, mine: 2}", "resources: {cpus: -1}"),
    ("resources: {cpus: all}", "resources: {cpus: x}"),
    ("resources: {disk: 1GB}", "resources: {disk: 1XB}"),
    ("resources: {exclusive: true}", "resources: {exclusive: 1}"),
    ("resources: {memory: {first: 1GB, factor: 2, max: 4GB}}", "resources: {memory: {max: 4GB}}"),
    ("require: {gpu: [a, b], os: x}", "require: {gpu: {a: 1}}"),
    ("retry: 3", "retry: 101"),
    ("retry: {max: 2, backoff: 1s, backoff_factor: 3, backoff_max: 1m}", "retry: {maximum: 1}"),
    (
      "retry: {reasons: [any, failed, timeout, oom, lost, signal, 'signal:KILL', 'exit:1-9']}",
      "retry: {reasons: [luck]}"
    ),
    ("retry: {avoid_worker: true}", "retry: {avoid_worker: 1}"),
    ("max_lost: 2", "max_lost: -1"), ("on_worker_lost: fail", "on_worker_lost: panic"),
    ("not_before: 5m", "not_before: soon"),
    ("not_before: '2026-11-21T18:00:00+01:00'", "not_before: '2026-11-21'"),
    ("timeout: 1h30m", "timeout: 90"),
    ("warn_before_timeout: {signal: USR1, before: 1m}", "warn_before_timeout: {signal: USR1}"),
    ("needs_time: 2h", "needs_time: long"),
    ("cancel: {signal: SIGINT, grace: 5s}", "cancel: {signal: 2x}"),
    ("cancel: {group: false}", "cancel: {group: 2}"),
    ("suspend_signal: TSTP", "suspend_signal: []"),
    ("env: {A: '${{ item }}'}", "env: {A: [1]}"), ("export_env: [PATH]", "export_env: PATH"),
    ("env: {A: {secret: {env: V}}}", "env: {A: {secret: x}}"),
    ("env: {A: {secret: {file: s.env}}}", "env: {A: {secret: {}}}"),
    ("env_file: s.env", "env_file: {a: b}"),
    ("env_file: [s.env, s.env]", "env_file: [[s.env]]"),
    ("workdir: sub", "workdir: [x]"), ("shell: bash", "shell: fish"),
    ("shell: [python3, -c]", "shell: []"),
    ("shell: {name: bash, strict: false}", "shell: {strict: false}"),
    ("stdout: o", "stdout: [o]"), ("stderr: e", "stderr: {}"), ("stdin: text", "stdin: [x]"),
    ("stdin: {file: f}", "stdin: {fill: f}"), ("logs: {max: 1MiB}", "logs: {max: x}"),
    ("logs: {keep: never}", "logs: {keep: ever}"),
    ("ok_exit_codes: [0, 3]", "ok_exit_codes: [256]"),
    ("labels: {k: v}", "labels: {k: [v]}"),
  ]

  /// Accepted by both; and it changes the submission, or is spoken of.
  @Test(arguments: samples) func aValueThatIsFine(place: String, good: String, bad: String) throws {
    let text = Self.manifest(place, good)
    let root = try #require(YAMLReader.read(text).root)
    #expect(try schema.accepts(JSON(root)), "schema refuses \(good)")
    let compiled = compile(text, files: ["/base/s.env": "K=v\n"], variables: ["V": "x"])
    #expect(compiled.errors.allSatisfy { $0.contains("not supported yet") }, "\(compiled.errors)")
    let plain = compile(Self.manifest("none", ""))
    let isInert = ["$schema", "description", "x-", "params", "max_concurrent: u"].contains {
      good.hasPrefix($0)
    }
    let hasEffect =
      !compiled.result.diagnostics.isEmpty
      || compiled.result.submission != plain.result.submission
      || compiled.commands != plain.commands
      || compiled.result.notifications != plain.result.notifications
    #expect(hasEffect != isInert, "\(place) \(good)")
  }

  @Test(arguments: samples) func aValueThatIsNot(place: String, good: String, bad: String) throws {
    let text = Self.manifest(place, bad)
    let root = try #require(YAMLReader.read(text).root)
    #expect(try !schema.accepts(JSON(root)), "schema takes \(bad)")
    #expect(!compile(text).errors.isEmpty, "the decoder takes \(place) \(bad)")
  }

  // Of two values of one key a reader takes whichever it likes.
  @Test func noKeyIsWrittenTwice() throws {
    var objects: [Set<String>] = []
    var repeated: [String] = []
    var rest = ManifestSchema.text[...]
    while let next = rest.popFirst() {
      switch next {
      case "{", "[": objects.append([])
      case "}", "]": objects.removeLast()
      case "\"":
        var word = ""
        while let part = rest.popFirst(), part != "\"" {
          word.append(part)
          if part == "\\", let escaped = rest.popFirst() { word.append(escaped) }
        }
        if rest.drop(while: \.isWhitespace).first == ":",
          !objects[objects.count - 1].insert(word).inserted
        {
          repeated.append(word)
        }
      default: break
      }
    }
    #expect(repeated == [])
  }

  /// Every key of every table stands in a sample, an example, or the tests of elements.
  @Test func everyKeyHasASample() throws {
    let elsewhere: Set = [
      "version", "queues", "defaults", "operations", "run", "call", "python", "blocks", "group",
      "barrier", "needs", "array", "matrix",
    ]
    let text = Self.samples.map { $0.good }.joined(separator: "\n")
    let tables = [
      ManifestKeys.graph, ManifestKeys.operation, ManifestKeys.settings, ManifestKeys.queue,
      ManifestKeys.retry, ManifestKeys.cancel, ManifestKeys.logs, ManifestKeys.edge,
    ]
    for table in tables {
      for key in table.keys where !elsewhere.contains(key) {
        #expect(text.contains("\(key):"), "\(key)")
      }
    }
  }

  @Test(arguments: ["hello", "rnaseq", "tiles"]) func theExamplesAreValid(name: String) throws {
    let root = try #require(YAMLReader.read(try fixtureText("Fixtures/\(name).yaml")).root)
    #expect(try schema.accepts(JSON(root)))
  }
}
