// The shell's text of a node with PRE and POST scripts. The exit code of POST is that of the node,
// whatever the job did; without a POST it is that of the first that fails.

import OpClusterModel

struct NodeScripts {
  let node: DagNode
  let session: ImportSession

  var hasScripts: Bool { node.before != nil || node.after != nil }

  /// The command of a job with its streams, for a shell.
  static func command(of job: SubmitJob) -> String {
    var text = job.words.map { $0.shellWord }.joined(separator: " ")
    text += " < \((job.input ?? "/dev/null").shellWord)"
    if let output = job.output { text += " > \(output.shellWord)" }
    if let error = job.error { text += " 2> \(error.shellWord)" }
    return text
  }

  /// A text that runs the scripts around a command.
  func around(_ command: String, folder: String) throws(ImportStop) -> String {
    var lines: [String] = []
    if let before = node.before {
      lines.append("(\(try self.command(before, status: nil))); PRE=$?")
      if let skip = node.skipCode { lines.append("[ $PRE -ne \(skip) ] || exit 0") }
      lines.append("[ $PRE -eq 0 ] || exit $PRE")
    }
    lines.append("(\(command)); RETURN=$?")
    if let after = node.after {
      lines.append(try self.command(after, status: "$RETURN"))
    } else {
      lines.append("exit $RETURN")
    }
    return lines.joined(separator: "\n")
  }

  /// The command of a script. Its variables stand alone as arguments.
  /// - Parameter status: What `$RETURN` is; nil where nothing has returned.
  func command(_ script: DagScript, status: String?) throws(ImportStop) -> String {
    var words: [String] = []
    for argument in script.arguments {
      switch argument.uppercased() {
      case "$JOB", "$NODE": words.append(node.name.shellWord)
      case "$RETRY": words.append("\"\(RuntimeValue.retry.shellText)\"")
      case "$MAX_RETRIES": words.append("\(node.retries)")
      case "$RETURN":
        guard let status else {
          throw session.stop(
            script.place, "$RETURN is known only to the POST script of a single job")
        }
        words.append("\"\(status)\"")
      case "$PRE_SCRIPT_RETURN": words.append(node.before == nil ? "0" : "\"$PRE\"")
      case "$JOBID", "$CLUSTERID": words.append("\"\(RuntimeValue.graph.shellText)\"")
      case "$DAG_STATUS", "$FAILED_COUNT", "$DAGID", "$NODE_COUNT", "$QUEUED_COUNT",
        "$DONE_COUNT", "$FUTILE_COUNT", "$EXIT_CODES", "$EXIT_CODE_COUNTS", "$SUCCESS":
        throw session.stop(script.place, "\(argument) is not known while a graph runs")
      default: words.append(argument.shellWord)
      }
    }
    // A name without a slash is looked for in the folder first, and in PATH otherwise.
    let local = path(script.program, in: script.folder)
    let isThere = script.program.contains("/") || session.files.age(local) != nil
    let program = (isThere ? local : script.program).shellWord
    let folder = script.folder.shellWord
    return "cd \(folder) && " + ([program] + words).joined(separator: " ")
  }
}

extension DagNode {
  var withoutScripts: DagNode {
    var node = self
    (node.before, node.after) = (nil, nil)
    return node
  }
}
