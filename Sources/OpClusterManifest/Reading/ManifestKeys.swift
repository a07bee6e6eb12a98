// All keys of a manifest, by mapping. The decoders read no other key; the tests compare these
// tables with the schema. Constants.
// A key that is not here is an error with the nearest known one as a hint, so every key of the
// format is listed, supported or not. Meanings are told in `Manifest.md`.

import OpClusterModel

/// The keys of one kind of mapping.
/// The order of the keys is that of hints; it has no further meaning.
struct KeyTable: Hashable {
  /// The name in messages: `unknown key 'nedds' in operation`.
  var name: String
  var keys: [String]
  /// Whether other keys are names that the user chooses.
  var isOpen = false
}

/// A new key goes into its table, into the schema, into `Manifest.md`, and into a decoder.
enum ManifestKeys {
  static let graph = KeyTable(
    name: "the manifest",
    keys: [
      "$schema", "version", "name", "description", "labels", "params", "defaults", "env",
      "env_file", "files",
      "queues", "on_failure", "max_failures", "deadline", "operations", "barriers", "finally",
      "notify",
    ])
  static let notification = KeyTable(
    name: "a notification", keys: ["webhook", "token", "run", "on"])
  static let parameter = KeyTable(
    name: "a parameter",
    keys: ["type", "default", "required", "choices", "pattern", "help"])
  static let queue = KeyTable(
    name: "a queue",
    keys: ["max_concurrent", "qos", "priority", "suspended", "require", "cluster_queue"])
  static let barrier = KeyTable(name: "a barrier", keys: ["name", "after", "before", "when"])
  /// The keys of `defaults`.
  static let settings = KeyTable(
    name: "defaults",
    keys: [
      "queue", "priority", "qos", "resources", "require", "retry", "max_lost", "on_worker_lost",
      "not_before", "exclusive", "reuse", "reproducible", "replicas", "timeout",
      "warn_before_timeout",
      "needs_time", "cancel", "suspend_signal",
      "env", "env_file",
      "export_env", "workdir", "shell", "stdout", "stderr", "stdin", "logs", "ok_exit_codes",
      "labels",
    ])
  /// An operation takes all settings besides its own keys.
  static let operation = KeyTable(
    name: "an operation",
    keys: [
      "description", "run", "call", "python", "blocks", "group", "barrier", "needs", "needs_any",
      "array", "matrix", "if", "files", "inputs", "outputs", "allow_failure",
    ] + settings.keys)
  /// The kinds of an operation; it has exactly one.
  /// Hints list them in this order.
  static let kinds = ["run", "call", "python", "blocks", "group", "barrier"]
  static let call = KeyTable(name: "'call'", keys: ["type", "input", "version"])
  static let python = KeyTable(
    name: "'python'", keys: ["function", "arguments", "keywords", "interpreter", "venv"])
  /// A block that is a mapping; commands are texts and lists.
  static let block = KeyTable(name: "a block", keys: ["call", "python"])
  static let group = KeyTable(
    name: "'group'",
    keys: ["operations", "max_concurrent", "on_failure", "max_failures", "same_worker"])
  /// The value beside a name in a mapping of needs.
  static let edge = KeyTable(name: "a need", keys: ["when", "match", "files", "optional"])
  /// An item of a list of needs.
  static let listedEdge = KeyTable(
    name: "a need", keys: ["op", "when", "match", "files", "optional"])
  static let outputs = KeyTable(name: "'outputs'", keys: ["values", "files"])
  static let array = KeyTable(
    name: "'array'",
    keys: ["range", "items", "lines", "glob", "json", "csv", "max_parallel", "max_failures"])
  /// The other keys of a matrix are its axes.
  static let matrix = KeyTable(
    name: "'matrix'", keys: ["include", "exclude", "max_parallel", "max_failures"], isOpen: true)
  static let files = KeyTable(name: "'files'", keys: ["in", "out", "stage", "skip_if_current"])
  /// Other keys are named resources of workers.
  static let resources = KeyTable(
    name: "'resources'", keys: ["cpus", "memory", "gpus", "disk", "exclusive"], isOpen: true)
  static let growing = KeyTable(name: "'memory'", keys: ["first", "factor", "max"])
  static let retry = KeyTable(
    name: "'retry'",
    keys: ["max", "reasons", "backoff", "backoff_factor", "backoff_max", "avoid_worker"])
  static let cancel = KeyTable(name: "'cancel'", keys: ["signal", "grace", "group"])
  static let warning = KeyTable(name: "'warn_before_timeout'", keys: ["signal", "before"])
  /// The other keys of an environment are its variables.
  static let environment = KeyTable(
    name: "'env'", keys: [InheritedVariables.key], isOpen: true)
  /// A variable with a mapping as its value.
  static let variable = KeyTable(name: "a variable", keys: ["secret"])
  static let secret = KeyTable(name: "'secret'", keys: ["env", "file"])
  static let input = KeyTable(name: "'stdin'", keys: ["file"])
  static let shell = KeyTable(name: "'shell'", keys: ["name", "strict"])
  static let logs = KeyTable(name: "'logs'", keys: ["keep", "max"])

  /// The tables of the mappings that operations and `defaults` have under a key.
  private static let nested: [(key: String, table: KeyTable)] = [
    ("resources", resources), ("retry", retry), ("cancel", cancel), ("array", array),
    ("matrix", matrix), ("files", files), ("outputs", outputs), ("call", call),
    ("python", python), ("group", group), ("logs", logs), ("stdin", input),
    ("warn_before_timeout", warning),
  ]

  /// Returns the hint for a key that a table lacks: where it belongs, or the nearest key; empty if
  /// it resembles none.
  static func hint(for key: String, in table: KeyTable) -> String {
    var homes: [String] = []
    if table == graph, settings.keys.contains(key) { homes.append("'defaults'") }
    if table == graph || table == group, operation.keys.contains(key) {
      homes.append("an operation")
    }
    if table == graph, queue.keys.contains(key), homes.isEmpty { homes.append("a queue") }
    for (place, inner) in nested where table.keys.contains(place) && inner.keys.contains(key) {
      homes.append("'\(place)'")
    }
    let near = NearNames.hint(for: key, among: table.keys)
    // `input` belongs into a call, and `inputs` to the operation: the nearer one is meant.
    let isPlural = homes.count == 1 && table == operation && table.keys.contains(key + "s")
    if !homes.isEmpty, !isPlural { return "write it inside " + homes.joined(separator: " or ") }
    if !near.isEmpty || table.keys.isEmpty || table.keys.count > keysListed { return near }
    return "it has " + table.keys.joined(separator: ", ")
  }

  /// As many keys can be read at a glance.
  private static let keysListed = 8

  /// Keys that apply only to a command (`run`).
  static let commandOnly = [
    "warn_before_timeout", "needs_time", "env", "env_file", "workdir", "shell", "stdin", "stdout",
    "stderr",
    "logs", "ok_exit_codes", "outputs", "export_env", "suspend_signal",
  ]
  /// Keys that apply only to running operations, not to a join point.
  static let runningOnly =
    commandOnly + [
      "inputs",
      "not_before", "timeout", "cancel", "array", "matrix", "queue", "priority", "qos", "resources",
      "require",
      "retry", "max_lost", "on_worker_lost", "allow_failure", "files", "reuse",
      "reproducible", "replicas",
    ]
  /// Keys that apply to a group's members, not to the group.
  static let notForGroups = ["array", "matrix", "inputs", "outputs", "allow_failure", "files"]
}
