// The default folders of a user's files (XDG base directories). Any thread.

import Glibc
import OpClusterSystem

public enum UserFolders {
  /// `$HOME`; if that is not set, as in some containers and services, the home of the account.
  public static var home: String { knownHome ?? "/" }

  /// nil if neither the environment nor the system knows a home.
  private static var knownHome: String? { absolute("HOME") ?? accountHome }

  public static var configuration: String { absolute("XDG_CONFIG_HOME") ?? "\(home)/.config" }

  public static var state: String { absolute("XDG_STATE_HOME") ?? "\(home)/.local/state" }

  /// The state folder, or a private folder if there is no home: below /tmp, which everybody can
  /// write to, so it must be checked for its owner before use.
  public static var stateOrTemporary: String {
    if let state = absolute("XDG_STATE_HOME") { return "\(state)/opcluster" }
    if let home = knownHome { return "\(home)/.local/state/opcluster" }
    return "/tmp/opcluster-\(geteuid())"
  }

  /// Ignores relative paths, which would depend on the directory of the start.
  private static func absolute(_ name: String) -> String? {
    OwnProcess.filledVariable(name).flatMap { $0.hasPrefix("/") ? $0 : nil }
  }

  /// The home of this user in the system's database; nil for an unknown account. Read once: the
  /// answer is in memory that all threads share.
  private static let accountHome: String? = {
    guard let entry = unsafe getpwuid(getuid()), let home = unsafe entry.pointee.pw_dir else {
      return nil
    }
    let path = unsafe String(cString: home)
    return path.hasPrefix("/") ? path : nil
  }()
}
