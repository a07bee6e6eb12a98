// How families of figures are written down: the text format of Prometheus, and OpenMetrics. Pure.

public enum Exposition: Sendable {
  case prometheusText
  case openMetrics

  /// The one that a scraper prefers, by the `Accept` of its request; text if it says nothing.
  public init(accept: String?) {
    var best = (weight: 0.0, format: Exposition.prometheusText)
    for part in (accept ?? "").split(separator: ",") {
      let words = part.split(separator: ";").map { $0.filter { $0 != " " }.lowercased() }
      let format: Exposition
      switch words.first {
      case "application/openmetrics-text": format = .openMetrics
      case "text/plain", "text/*", "*/*": format = .prometheusText
      default: continue
      }
      let quality = words.dropFirst().first { $0.hasPrefix("q=") }
      let weight = quality.map { Double($0.dropFirst(2)) ?? 0 } ?? 1
      if weight > best.weight { best = (weight, format) }
    }
    self = best.format
  }

  /// The `Content-Type` of an answer.
  public var contentType: String {
    switch self {
    case .prometheusText: "text/plain; version=0.0.4; charset=utf-8"
    case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
    }
  }

  /// Costs the samples.
  public func text(_ families: [MetricFamily]) -> String {
    var text = ""
    for family in families where !family.samples.isEmpty {
      let isCounter = family.kind == .counter
      let shown = self == .prometheusText && isCounter ? "\(family.name)_total" : family.name
      text += "# HELP \(shown) \(Self.escaped(family.help, quotes: self == .openMetrics))\n"
      text += "# TYPE \(shown) \(family.kind.rawValue)\n"
      if self == .openMetrics, let unit = Self.unit(of: family.name) {
        text += "# UNIT \(shown) \(unit)\n"
      }
      let name = isCounter ? "\(family.name)_total" : family.name
      for sample in family.samples { write(sample, name, into: &text) }
    }
    if self == .openMetrics { text += "# EOF\n" }
    return text
  }

  private func write(_ sample: MetricFamily.Sample, _ name: String, into text: inout String) {
    switch sample.value {
    case .number(let number):
      text += "\(name)\(Self.labels(sample.labels)) \(Self.number(number))\n"
    case .histogram(let histogram):
      var count: UInt64 = 0
      for (at, more) in histogram.counts.enumerated() {
        count &+= more
        let bound = at < histogram.bounds.count ? Self.bound(histogram.bounds[at]) : "+Inf"
        let labels = Self.labels(sample.labels + [(name: "le", value: bound)])
        text += "\(name)_bucket\(labels) \(count)\n"
      }
      text += "\(name)_sum\(Self.labels(sample.labels)) \(Self.number(histogram.sum))\n"
      text += "\(name)_count\(Self.labels(sample.labels)) \(count)\n"
    }
  }

  /// Units of OpenMetrics that our names end with.
  private static func unit(of name: String) -> String? {
    ["seconds", "bytes"].first { name.hasSuffix("_\($0)") }
  }

  private static func labels(_ labels: [(name: String, value: String)]) -> String {
    if labels.isEmpty { return "" }
    let all = labels.map { "\($0.name)=\"\(escaped($0.value, quotes: true))\"" }
    return "{\(all.joined(separator: ","))}"
  }

  private static func escaped(_ text: String, quotes: Bool) -> String {
    var escaped = ""
    for character in text.unicodeScalars {
      switch character {
      case "\\": escaped += "\\\\"
      case "\n": escaped += "\\n"
      case "\"" where quotes: escaped += "\\\""
      default: escaped.unicodeScalars.append(character)
      }
    }
    return escaped
  }

  /// Without a fraction where there is none.
  private static func number(_ number: Double) -> String {
    if number.isNaN { return "NaN" }
    if number.isInfinite { return number > 0 ? "+Inf" : "-Inf" }
    guard let whole = Int64(exactly: number) else { return "\(number)" }
    return "\(whole)"
  }

  /// OpenMetrics wants bounds to be fractions in both formats: else they would name two series.
  private static func bound(_ number: Double) -> String { "\(number)" }
}
