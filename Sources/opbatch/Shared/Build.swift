// What this build calls itself.

enum Build {
  static let version = "1.0.0"
  static let text = "opbatch \(version)"
}
