// Where files of a user are unless somebody says otherwise (XDG base directories). Any thread.

public enum UserFolders {
  /// `$HOME`; where that is not set, as in some containers and services, what the account has.
  public static var home: String {
    PrivateFolder.variable("HOME") ?? PrivateFolder.accountHome ?? "/"
  }

  public static var configuration: String {
    PrivateFolder.variable("XDG_CONFIG_HOME") ?? "\(home)/.config"
  }

  public static var state: String {
    PrivateFolder.variable("XDG_STATE_HOME") ?? "\(home)/.local/state"
  }
}
