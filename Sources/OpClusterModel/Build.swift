// The version of this build: one number for the daemons, the commands and the library, since they
// are built and installed together. The protocol version alone decides which peers understand each
// other (G32).

/// The version of this source.
public enum Build {
  /// The semantic version.
  public static let version = "1.0.0"

  /// The name that programs send in their hello; for people and logs.
  public static let name = "opcluster \(version)"
}
