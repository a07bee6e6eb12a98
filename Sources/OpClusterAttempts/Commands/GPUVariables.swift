// The environment variables that tell a process its gpus. Pure.

/// The variables about gpus.
package enum GPUVariables {
  /// The list of names; not set if there are none.
  static let own = "OP_GPUS"
  /// The variable that CUDA and most software on it read.
  package static let cuda = "CUDA_VISIBLE_DEVICES"

  /// Returns the variables. Gpus that the operation did not ask for are hidden.
  /// - Parameter gpus: nil: the worker does not manage gpus.
  static func of(_ gpus: [String]?) -> [(name: String, value: String)] {
    guard let gpus else { return [] }
    let list = gpus.joined(separator: ",")
    return gpus.isEmpty ? [(cuda, "")] : [(cuda, list), (own, list)]
  }
}
