// What this build calls itself: one number for the daemons, the commands and the library, as they
// are built and installed together. Which peers understand each other is decided by the protocol's
// version, never by this (G32).

/// The build that this source makes.
public enum Build {
  /// By semantic versioning.
  public static let version = "1.0.0"

  /// How programs call it when they greet each other; for people and logs.
  public static let name = "opcluster \(version)"
}
