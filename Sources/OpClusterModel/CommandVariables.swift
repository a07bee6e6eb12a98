// The environment variables that a command may not set (G38). Every submitter uses these messages;
// the worker refuses such variables in any case. Pure.

/// The rule for the environment variables of commands.
public enum CommandVariables {
  /// The problem with a variable, and the alternative.
  public struct Objection: Hashable, Sendable {
    public var message: String
    public var hint: String
  }

  /// Returns why workers refuse to set the variable; nil if they accept it.
  ///
  /// - Parameter value: nil if it is not known yet.
  public static func objection(to name: String, _ value: String?) -> Objection? {
    if name.hasPrefix("LD_") || name == "GLIBC_TUNABLES" {
      return Objection(
        message: "'\(name)' may not be set, since it steers the loader of every program",
        hint: "set it inside the command if you must: run: \"\(name)=… program\"")
    }
    if name == "OPCLUSTER_FENCE" {
      return Objection(message: "'\(name)' is the worker's own", hint: "choose another name")
    }
    guard name == "PATH", let value else { return nil }
    let folders = value.split(separator: ":", omittingEmptySubsequences: false)
    guard let folder = folders.first(where: { !$0.hasPrefix("/") }) else { return nil }
    return Objection(
      message: "'PATH' may hold absolute folders only, not '\(folder)'",
      hint: "write the folder in full")
  }
}

extension CommandSpecification {
  /// Returns why workers refuse one of the command's variables; nil if they accept all.
  public var objectionToEnvironment: CommandVariables.Objection? {
    environment.lazy.compactMap { CommandVariables.objection(to: $0.name, $0.value.literal) }.first
  }
}

extension CommandText {
  /// The whole text if it is known; else nil.
  fileprivate var literal: String? {
    var text = ""
    for segment in segments {
      guard case .literal(let part) = segment else { return nil }
      text += part
    }
    return text
  }
}
