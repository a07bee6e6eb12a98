// What a process is told of the gpus that it may use. Pure; part of its environment.

/// The variables about gpus.
enum GPUVariables {
  /// A list of names; not set where there are none.
  static let own = "OP_GPUS"
  /// What CUDA, and most that is built on it, heeds.
  static let cuda = "CUDA_VISIBLE_DEVICES"

  /// Those that it did not ask for are hidden from it.
  /// - Parameter gpus: nil: who runs it gives nobody any.
  static func of(_ gpus: [String]?) -> [(name: String, value: String)] {
    guard let gpus else { return [] }
    let list = gpus.joined(separator: ",")
    return gpus.isEmpty ? [(cuda, "")] : [(cuda, list), (own, list)]
  }
}
