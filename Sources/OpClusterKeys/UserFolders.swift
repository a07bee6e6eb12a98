// Where files of a user are unless somebody says otherwise (XDG base directories). Any thread.

public enum UserFolders {
  /// `$HOME`; where that is not set, as in some containers and services, what the account has.
  public static var home: String { absolute("HOME") ?? PrivateFolder.accountHome ?? "/" }

  public static var configuration: String { absolute("XDG_CONFIG_HOME") ?? "\(home)/.config" }

  public static var state: String { absolute("XDG_STATE_HOME") ?? "\(home)/.local/state" }

  /// Relative ones do not count, or it would matter where a program is started.
  private static func absolute(_ name: String) -> String? {
    PrivateFolder.variable(name).flatMap { $0.hasPrefix("/") ? $0 : nil }
  }
}
