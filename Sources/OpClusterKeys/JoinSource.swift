// The source of an invitation's token: a file or standard input, which no other user can read, or
// an argument, which all can. Reads at most one small file, or one line; any thread.

import OpClusterFolders
import OpClusterModel

/// The given source of a token.
public enum JoinSource: Hashable, Sendable {
  /// The token itself, visible in the list of processes.
  case text(String)
  case standardInput
  case file(String)

  /// `-` is standard input.
  public init(textOrDash text: String) { self = text == "-" ? .standardInput : .text(text) }

  /// `-` is standard input, a text with the token's prefix is the token, all else is a file.
  public init(fileTextOrDash text: String) {
    self = text.hasPrefix(JoinToken.prefix) ? .text(text) : JoinSource(fileOrDash: text)
  }

  private init(fileOrDash text: String) { self = text == "-" ? .standardInput : .file(text) }

  /// The token.
  ///
  /// - Parameter readLine: The first line of standard input, of at most this number of bytes; nil
  ///   if it cannot be read.
  /// - Throws: `.refused` for a text that is no token, `.exposed` for a file that others can change
  ///   or read.
  public func token(readLine: (Int) -> [UInt8]?) throws(KeyError) -> JoinToken {
    let text: String
    switch self {
    case .text(let given): text = given
    case .standardInput:
      guard let bytes = readLine(Limits.joinFileBytes) else {
        throw Self.noToken("standard input cannot be read")
      }
      text = String(decoding: bytes, as: UTF8.self)
    case .file(let path): text = try Self.contents(of: path)
    }
    guard text.utf8.count <= Limits.joinFileBytes, let token = JoinToken(text) else {
      throw Self.noToken("\(name) not the token of an invitation, or one of another release")
    }
    return token
  }

  private static func contents(of path: String) throws(KeyError) -> String {
    let bytes: [UInt8]?
    do throws(FolderError) {
      bytes = try OwnFiles.contents(ofTrusted: path, limit: Limits.joinFileBytes, isSecret: true)
    } catch {
      throw KeyError(error)
    }
    guard let bytes else { throw noToken("there is no file \(path)") }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func noToken(_ what: String) -> KeyError {
    KeyError(.notUnderstood, what, hint: "copy all of the token that 'opcoord key invite' printed")
  }

  /// For messages, which never contain the token.
  private var name: String {
    switch self {
    case .text: "this is"
    case .standardInput: "what standard input holds is"
    case .file(let path): "what \(path) holds is"
    }
  }
}
