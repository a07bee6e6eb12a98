// Decodes `notify`: who is told when the graph ends or first fails.

import OpClusterModel

struct NotificationDecoder {
  let findings: Findings

  func decode(_ nodes: [ManifestNode]) -> [GraphNotification] {
    if nodes.count > GraphNotification.most {
      findings.error(
        "'notify' has more than \(GraphNotification.most) entries", nodes.first?.place)
    }
    return nodes.compactMap { notification($0) }
  }

  private func notification(_ node: ManifestNode) -> GraphNotification? {
    guard let fields = Fields(node, ManifestKeys.notification, findings) else { return nil }
    let moments = moments(fields)
    switch (fields["webhook"], fields["run"]) {
    case (let webhook?, nil):
      guard let address = address(webhook) else { return nil }
      return GraphNotification(.webhook(address, token: token(fields)), moments)
    case (nil, let run?):
      if let token = fields["token"] {
        findings.error("'token' is for a webhook", token.place)
      }
      return words(run.value).map { GraphNotification(.command($0), moments) }
    case (nil, nil), (.some, .some):
      findings.error("a notification has exactly one of webhook, run", node.place)
      return nil
    }
  }

  /// Both moments unless it says which.
  private func moments(_ fields: Fields) -> Set<GraphNotification.Moment> {
    guard let node = fields.node("on") else { return Set(GraphNotification.Moment.allCases) }
    var nodes = [node]
    if case .sequence(let items) = node.value { nodes = items }
    let words = GraphNotification.Moment.allCases.map { ($0.rawValue, $0) }
    return Set(nodes.compactMap { findings.choice($0, "'on'", words) })
  }

  /// An address may be a secret by itself, as those of chat rooms are.
  private func address(_ entry: ManifestNode.Entry) -> String? {
    let address: String?
    if case .mapping = entry.value.value {
      address = SecretDecoder(findings: findings).value(
        entry.value, of: entry.key, at: entry.key)
    } else {
      address = findings.text(entry.value, "'webhook'")
    }
    guard let address else { return nil }
    if let objection = GraphNotification.objection(toWebhook: address) {
      findings.error(objection, entry.value.place)
      return nil
    }
    return address
  }

  private func token(_ fields: Fields) -> String? {
    guard let entry = fields["token"] else { return nil }
    guard case .mapping = entry.value.value else {
      findings.error(
        "a token is kept out of manifests", entry.value.place,
        hint: "token: {file: PATH}, or {env: NAME}")
      return nil
    }
    guard let token = SecretDecoder(findings: findings).value(
        entry.value, of: entry.key, at: entry.key)
    else { return nil }
    if let objection = GraphNotification.objection(toToken: token) {
      findings.error(objection, entry.value.place)
      return nil
    }
    return token
  }

  /// A text is for the shell, a list is a program with its arguments.
  private func words(_ node: ManifestNode) -> [String]? {
    var words: [String] = []
    if case .sequence(let items) = node.value {
      for item in items {
        guard let word = findings.text(item, "'run'") else { return nil }
        words.append(word)
      }
    } else {
      guard let text = findings.text(node, "'run'") else { return nil }
      words = ["sh", "-c", text]
    }
    guard words.first?.isEmpty == false, words.last?.isEmpty == false,
      !words.contains(where: { $0.utf8.contains(0) })
    else {
      findings.error("'run' names nothing that could be run", node.place)
      return nil
    }
    if let program = words.first, program.contains("=") {
      findings.error(
        "'run' begins with a program, and '\(program)' sets a variable", node.place,
        hint: "write one text for the shell: run: \"A=b program\"")
      return nil
    }
    return words
  }
}
