// Parts of declarations that several decoders fill.
// Values only; the decoders make them, the lowering reads them.

import OpClusterModel

/// The number of failures that is still allowed.
/// A share needs a total, which is known when all operations are expanded.
enum FailureBound {
  case count(UInt32)
  case percent(Int)

  /// Rounds down: of ten operations, 25 % are two failures. The product fits, as a total is at most
  /// four million.
  func count(of total: Int) -> UInt32 {
    switch self {
    case .count(let count): count
    case .percent(let percent): UInt32(total * percent / 100)
    }
  }
}

/// An environment variable of a command.
/// A variable has one value; a later one of the same name replaces it.
struct DeclaredVariable {
  var name: String
  var value: Value

  enum Value {
    /// A text; it may hold values that are known only later.
    case text(ManifestNode)
    /// A variable of the submitter's environment, unchanged.
    case inherited(String)
    /// A secret value; only the worker receives it.
    case secret(String)
  }
}
