// The words of advice for people at a shell: the commands of `opbatch`.
// The library has words of its own in `AdviceWords.swift`: a Swift program calls functions. A
// command that is renamed changes here.

package import OpClusterModel

extension Advice {
  /// The advice for people at a shell.
  /// A phrase without a full stop: it follows a sentence behind a semicolon.
  package var forShell: String {
    switch self {
    case .text(let text): text
    case .listGraphs: "see them with: opbatch ls -a"
    case .cancelGraph(let graph): "cancel it with: opbatch cancel \(graph.number)"
    case .resumeGraph(let graph): "resume it with: opbatch resume \(graph.number)"
    case .release(let operation): "release it with: opbatch release \(operation)"
    case .releaseEarly(let operation): "release it now with: opbatch release \(operation)"
    case .createQueue(let name): "create it with: opbatch queue create \(name)"
    case .resumeQueue(let name): "resume it with: opbatch queue resume \(name)"
    case .cancelQueue(let name):
      "wait for them, or cancel them with: opbatch queue cancel \(name)"
    case .removeQueues: "remove some with: opbatch queue rm NAME"
    case .raiseLimit(let queue, let limit):
      "raise the limit with: opbatch queue set \(queue) --max-concurrent \(limit), or put what is "
        + "waited for into another queue"
    case .listWorkers: "see them with: opbatch worker ls"
    case .findWorker: "see whether it is connected with: opbatch worker ls"
    case .drainWorker(let name): "let it finish and leave with: opbatch worker drain \(name)"
    case .startCluster:
      "start one with 'opbatch up' or 'opcoord serve', or name another with --coordinator or "
        + "OPBATCH_COORDINATOR"
    case .changeUser:
      "run this as that user if it is their cluster that you mean, or name another with "
        + "--coordinator; between users a coordinator serves over tcp:// with keys"
    case .join:
      "'opbatch key join FILE', or 'opworker serve --coordinator ADDRESS --join-file FILE', make a "
        + "key of your own"
    case .addKey:
      "'opbatch key show' prints the key; an administrator adds it with 'opcoord key add', or "
        + "invites with 'opcoord key invite'"
    case .compareKeys:
      "check the address; compare 'opbatch key show' here with 'opcoord key show' there"
    case .compareReleases:
      "check the address and compare 'opbatch version' with 'opcoord --version'"
    }
  }
}

extension Refusal {
  /// The message and the advice, for people at a shell.
  package var forShell: String { joined(message, hint.forShell) }
}

extension Explanation.Line {
  /// The sentence and its advice, for people at a shell.
  package var forShell: String { joined(text, hint.forShell) }
}

/// Either part may be empty, and then there is no semicolon.
private func joined(_ text: String, _ hint: String) -> String {
  [text, hint].filter { !$0.isEmpty }.joined(separator: "; ")
}
