// Rewords the coordinator's advice for people at a terminal: for Swift programs it names the call
// instead of the command, if there is one. Pure.

enum SwiftWording {
  /// A command with its arguments, up to the end of that part of the sentence, and the equivalent
  /// call.
  static let calls: [(command: String, call: String)] = [
    ("opbatch queue cancel ", "cancelAllOperations()"),
    ("opbatch queue resume ", "resume()"),
    ("opbatch queue set ", "a higher maxConcurrentOperationCount"),
    ("opbatch queue create ", "ClusterOperationQueue(name:) and its first operation"),
    ("opbatch release ", "release()"),
    ("opbatch cancel ", "cancelAllOperations()"),
  ]

  /// Advice that is replaced as a whole.
  static let advice: [(toPeople: String, toPrograms: String)] = [
    (
      "start one with 'opbatch up' or 'opcoord serve'",
      "use OperationCluster.embedded(), or start one with 'opcoord serve'"
    ),
    ("name another with --coordinator or OPBATCH_COORDINATOR", "give connect(to:) another address"),
    ("name another with --coordinator", "give connect(to:) another address"),
  ]

  /// Commands without an equivalent call: a person must enter them.
  static let withoutCall = [
    "opbatch ls", "opbatch worker", "opbatch resume", "opbatch key show", "opbatch version",
  ]

  /// A sentence with calls instead of commands; other sentences are unchanged.
  static func of(_ sentence: String) -> String {
    var sentence = sentence
    for (command, call) in calls {
      guard let found = sentence.firstRange(of: command) else { continue }
      let rest = sentence[found.upperBound...]
      let end = rest.firstIndex { $0 == "," || $0 == ";" } ?? rest.endIndex
      sentence = "\(sentence[..<found.lowerBound])\(call)\(rest[end...])"
    }
    for (toPeople, toPrograms) in advice {
      guard let found = sentence.firstRange(of: toPeople) else { continue }
      sentence = "\(sentence[..<found.lowerBound])\(toPrograms)\(sentence[found.upperBound...])"
    }
    return sentence
  }
}
