// Where files of a user are unless somebody says otherwise (XDG base directories). Any thread.

import Glibc

public enum UserFolders {
  /// `$HOME`; where that is not set, as in some containers and services, what the account has.
  public static var home: String { knownHome ?? "/" }

  /// nil where neither the environment nor the system knows of one.
  private static var knownHome: String? { absolute("HOME") ?? accountHome }

  public static var configuration: String { absolute("XDG_CONFIG_HOME") ?? "\(home)/.config" }

  public static var state: String { absolute("XDG_STATE_HOME") ?? "\(home)/.local/state" }

  /// The same, or a folder of this user's own where there is no home: below /tmp, which everybody
  /// can write to, so that it counts only when it is found to be ours.
  public static var stateOrTemporary: String {
    if let state = absolute("XDG_STATE_HOME") { return "\(state)/opcluster" }
    if let home = knownHome { return "\(home)/.local/state/opcluster" }
    return "/tmp/opcluster-\(geteuid())"
  }

  /// Relative ones do not count, or it would matter where a program is started.
  private static func absolute(_ name: String) -> String? {
    variable(name).flatMap { $0.hasPrefix("/") ? $0 : nil }
  }

  /// A variable of the environment; nil when it is not set or empty.
  private static func variable(_ name: String) -> String? {
    guard let value = unsafe getenv(name) else { return nil }
    let text = unsafe String(cString: value)
    return text.isEmpty ? nil : text
  }

  /// The home that the system knows of this user; nil for an account that it does not know. Asked
  /// for once: the answer is in memory that all threads share.
  private static let accountHome: String? = {
    guard let entry = unsafe getpwuid(getuid()), let home = unsafe entry.pointee.pw_dir else {
      return nil
    }
    let path = unsafe String(cString: home)
    return path.hasPrefix("/") ? path : nil
  }()
}
