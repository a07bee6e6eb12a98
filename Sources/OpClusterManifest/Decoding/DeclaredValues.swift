// Parts of declarations that several decoders fill.

import OpClusterModel

/// The number of failures that is still allowed.
enum FailureBound {
  case count(UInt32)
  case percent(Int)

  func count(of total: Int) -> UInt32 {
    switch self {
    case .count(let count): count
    case .percent(let percent): UInt32(total * percent / 100)
    }
  }
}

/// An environment variable of a command.
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
