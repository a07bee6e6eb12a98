// What is to be told of a graph, and to whom: `notify` of a manifest, `--notify` of a command. The
// submitter's own program tells it; the cluster knows nothing of it.

import OpClusterModel

public struct GraphNotification: Hashable, Sendable {
  public enum Moment: String, CaseIterable, Sendable {
    /// The graph has ended, however.
    case end
    /// Its first operation has failed; once for each graph.
    case failure
  }
  public enum Way: Hashable, Sendable {
    /// A POST with JSON. The token goes along as `Authorization: Bearer`.
    case webhook(String, token: String?)
    /// A program with its arguments, which gets the JSON at stdin.
    case command([String])
  }
  public var way: Way
  public var moments: Set<Moment>

  public init(_ way: Way, _ moments: Set<Moment> = Set(Moment.allCases)) {
    self.way = way
    self.moments = moments
  }

  /// Most of one graph.
  public static let most = 8
  /// Bytes of a webhook's address, and of its token.
  static let longestAddress = 2_048

  /// What is wrong with a webhook's address; nil: nothing.
  public static func objection(toWebhook address: String) -> String? {
    let begins = ["https://", "http://"]
    guard let begin = begins.first(where: address.hasPrefix), address.count > begin.count else {
      return "a webhook begins with https:// or http://"
    }
    guard address.utf8.count <= longestAddress else {
      return "a webhook has at most \(longestAddress) bytes"
    }
    return address.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f }
      ? nil : "a webhook has letters of ASCII without blanks: others are written as %20"
  }

  /// What is wrong with a token; nil: nothing.
  static func objection(toToken token: String) -> String? {
    guard (1...longestAddress).contains(token.utf8.count) else {
      return "a token has 1 to \(longestAddress) bytes"
    }
    return token.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f }
      ? nil : "a token has letters of ASCII without blanks and line ends"
  }
}

// MARK: - For another process of the same program

extension GraphNotification {
  /// Texts, each ended by a zero byte, which none of them contains.
  public static func encoded(_ notifications: [GraphNotification]) -> [UInt8] {
    var texts: [String] = []
    for notification in notifications {
      texts.append(notification.moments.map(\.rawValue).sorted().joined(separator: ","))
      switch notification.way {
      case .webhook(let address, let token): texts += ["webhook", "2", address, token ?? ""]
      case .command(let words): texts += ["command", "\(words.count)"] + words
      }
    }
    return texts.flatMap { Array($0.utf8) + [0] }
  }

  /// nil: the bytes are not from `encoded`.
  public static func decoded(_ bytes: [UInt8]) -> [GraphNotification]? {
    var texts = bytes.split(separator: 0, omittingEmptySubsequences: false)
      .map { String(decoding: $0, as: UTF8.self) }[...]
    guard texts.popLast() == "" else { return nil }
    var notifications: [GraphNotification] = []
    while let words = texts.popFirst() {
      let moments = words.split(separator: ",").compactMap { Moment(rawValue: String($0)) }
      guard let kind = texts.popFirst(), let count = texts.popFirst().flatMap({ Int($0) }),
        count >= 1, count <= texts.count
      else { return nil }
      let values = Array(texts.prefix(count))
      texts = texts.dropFirst(count)
      switch kind {
      case "webhook" where count == 2:
        let token = values[1].isEmpty ? nil : values[1]
        notifications.append(Self(.webhook(values[0], token: token), Set(moments)))
      case "command": notifications.append(Self(.command(values), Set(moments)))
      default: return nil
      }
    }
    return notifications
  }
}
