// Decodes `retry`, `max_lost` and `on_worker_lost`. Part of the settings decoder.
// Retries are counted failures of the operation; losses are the worker's fault, and have a count of
// their own (S12).

import OpClusterModel

extension SettingsDecoder {
  /// A number is the short form of `{max: NUMBER}` with the defaults of all other keys.
  func decodeRetry(_ settings: inout DeclaredSettings) {
    let findings = fields.findings
    if let node = fields.node("retry") {
      if case .mapping = node.value {
        if let retry = Fields(node, ManifestKeys.retry, findings) {
          settings.retry = Self.retry(retry)
        }
      } else if let count = findings.integer(node, "'retry'", 0...100) {
        // The limit of a hundred is that of the wire.
        settings.retry = RetryPolicy(maximum: UInt32(count))
      }
    }
    if let losses = fields.integer("max_lost", 0...1000) {
      settings.maximumLosses = UInt32(losses)
    }
    // The words as booleans: whether a loss ends the operation.
    let words = [("restart", false), ("fail", true)]
    guard let fails = fields.choice("on_worker_lost", words) else { return }
    if fails {
      // A default of 0 losses is inherited from `on_worker_lost: fail`, and contradicts nothing.
      if let entry = fields["max_lost"], settings.maximumLosses > 0 {
        findings.error("'max_lost' has no meaning with 'on_worker_lost: fail'", entry.place)
      }
      settings.maximumLosses = 0
    } else if settings.maximumLosses == 0, fields["max_lost"] == nil {
      // `restart` undoes a default of `fail`.
      settings.maximumLosses = Limits.lossesBeforeGivingUp
    }
  }

  /// `max` defaults to one further attempt here: somebody who writes a mapping wants some.
  private static func retry(_ fields: Fields) -> RetryPolicy {
    var retry = RetryPolicy(maximum: 1)
    if let count = fields.integer("max", 0...100) { retry.maximum = UInt32(count) }
    // An empty list, and a missing one, mean all failures that may be retried.
    retry.reasons = (fields.list("reasons") ?? []).compactMap { reason($0, fields.findings) }
    if let backoff = fields.duration("backoff") { retry.backoff = backoff }
    if let longest = fields.duration("backoff_max") { retry.maximumBackoff = longest }
    // Percent on the wire; the factor is decimal in the manifest, and more than two decimals would
    // be cut.
    if let node = fields.node("backoff_factor"),
      let factor = fields.findings.amount(node, "'backoff_factor'")
    {
      let percent = factor.tenThousandths / 100
      if factor.tenThousandths % 100 != 0 || percent < 100 || percent > 10_000 {
        fields.findings.error(
          "'backoff_factor' must be from 1 to 100 with at most two decimals", node.place)
      } else {
        retry.backoffPercent = UInt32(percent)
      }
    }
    if let avoids = fields.bool("avoid_worker") { retry.avoidsWorker = avoids }
    return retry
  }

  private static let reasonWords: [(String, RetryPolicy.Reason)] = [
    ("any", .any), ("failed", .failed), ("timeout", .timeout), ("oom", .outOfMemory),
    ("lost", .lost), ("signal", .anySignal),
  ]

  /// The forms with a colon are parsed by hand, as their second half is a name or a range. Returns
  /// nil after a finding.
  private static func reason(_ node: ManifestNode, _ findings: Findings) -> RetryPolicy.Reason? {
    guard let text = findings.text(node, "a reason") else { return nil }
    if let known = reasonWords.first(where: { $0.0 == text }) { return known.1 }
    if let name = text.after("signal:"), let number = Quantities.signal(name) {
      return .signal(number)
    }
    if let range = text.after("exit:") {
      // `exit:3` is a range whose ends are the same piece.
      let ends = range.split(separator: "-", omittingEmptySubsequences: false)
      if ends.count <= 2, let first = status(ends.first), let last = status(ends.last),
        first <= last
      {
        return .exit(first, last)
      }
    }
    let words = reasonWords.map { $0.0 } + ["signal:NAME", "exit:N", "exit:N-M"]
    let near = NearNames.hint(for: text, among: words)
    findings.error(
      "'\(text)' is no reason to retry", node.place,
      hint: near.isEmpty ? "one of " + words.joined(separator: ", ") : near)
    return nil
  }

  /// Exit statuses have one to three digits, without a sign. Numbers above 255 are nil, since
  /// `UInt8` does not hold them.
  private static func status(_ text: Substring?) -> UInt8? {
    guard let text, text.utf8.count <= 3, text.utf8.allSatisfy(Names.isDigit) else { return nil }
    return UInt8(text)
  }
}
