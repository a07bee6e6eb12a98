// The statements of a DAGMan input file as values: nodes, what is said of them, and what includes
// other files. Splices are put in place while reading; nothing is made of the nodes yet.

/// A node as all statements together describe it.
struct DagNode {
  enum Kind {
    case job, subdag, final
  }
  var kind: Kind
  /// With the names of the splices in front, joined by `+`.
  var name: String
  var place: SourcePlace
  /// The submit file, or the file of a SUBDAG.
  var file: String
  /// Lines of a submit description in the DAG file itself, the number of the first one.
  var inline: (lines: [String], first: Int)?
  var folder: String
  var isNoop = false
  var isDone = false
  var parents: [Int] = []
  var before: DagScript?
  var after: DagScript?
  var skipCode: Int?
  var retries = 0
  var finalExitCode: Int?
  var abortCode: Int?
  var priority: Int?
  var category: String?
  /// Macros in the order of their statements.
  var macros: [(name: String, value: String)] = []
}

struct DagScript {
  var program: String
  var arguments: [String]
  var folder: String
  var place: SourcePlace
}

/// A DAG with its splices put in place.
struct Dag {
  var nodes: [DagNode] = []
  var positions: [String: Int] = [:]
  /// First and last nodes of each splice by its full name.
  var splices: [String: (first: [Int], last: [Int])] = [:]
  /// Limits of categories.
  var categories: [(name: String, limit: Int)] = []
  /// Submit descriptions that nodes name.
  var descriptions: [String: (lines: [String], first: Int)] = [:]

  var finalNode: Int? { nodes.firstIndex { $0.kind == .final } }
}

/// Words of a line of a DAG file; those in double quotes are of VARS only.
struct DagLine {
  var place: SourcePlace
  var text: String
  var words: [String]
  var keyword: String { words[0].uppercased() }
}
