// The submitter's files that operations read: which ones a manifest names. They are looked for by
// whoever submits it, since the compiler reads no large files.

import OpClusterModel

/// The submitter's files that the elements of one operation read, before anybody has looked for
/// them.
public struct OwnFileWishes: Hashable, Sendable {
  /// A path, a folder or a pattern.
  public struct Wish: Hashable, Sendable {
    /// What it is called in `OP_INPUTS`; nil: by its path.
    public var name: String?
    public var path: String
    /// Where a path begins that is not absolute: the manifest's folder, or the submitter's for what
    /// the command line names.
    public var folder: String

    public init(name: String? = nil, path: String, in folder: String) {
      self.name = name
      self.path = path
      self.folder = folder
    }
  }

  /// The position of the operation's template in the submission.
  public var template: Int
  public var operation: String
  /// One list for all elements, or one for each.
  public var lists: [[Wish]]

  public init(template: Int, operation: String, lists: [[Wish]]) {
    self.template = template
    self.operation = operation
    self.lists = lists
  }
}

extension Lowering {
  /// What an operation names; nil: nothing. Costs its files, times its elements if a path differs
  /// between them.
  func ownFiles(
    of operation: OperationDeclaration, _ substitution: Substitution,
    _ template: OperationTemplate, at position: Int
  ) -> OwnFileWishes? {
    // What all commands find is not for calls: their types do not expect it.
    let areAll = !operation.leavesValue
    let uploads = (areAll ? graph.uploads : []).map { path in
      OwnFileWishes.Wish(path: path, in: findings.surroundings.workingFolder)
    }
    var texts: [(name: String?, path: CommandText)] = []
    for node in areAll ? graph.files : [] {
      guard let path = substitution.plain(node, "a file") else { continue }
      check(path, node, isOfElement: false)
      texts.append((nil, path))
    }
    for file in operation.ownFiles {
      guard let path = substitution.plain(file.path, "the input '\(file.name)'") else { continue }
      check(path, file.path, isOfElement: true)
      texts.append((file.name, path))
    }
    if texts.isEmpty, uploads.isEmpty { return nil }
    let differ = texts.contains { $0.path.segments.contains { $0.isOfElement } }
    let lists = (0..<(differ ? template.count : 1)).map { element in
      let values = operation.elements?.values(Int(element)) ?? []
      return uploads
        + texts.map { text in
          OwnFileWishes.Wish(
            name: text.name,
            path: text.path.filled(index: template.shownIndex(ofElement: element), values),
            in: findings.surroundings.baseFolder)
        }
    }
    return OwnFileWishes(template: position, operation: operation.name, lists: lists)
  }

  private func check(_ path: CommandText, _ node: ManifestNode, isOfElement: Bool) {
    if path.segments.isEmpty {
      findings.error("a file needs a path", node.place)
    } else if path.segments.contains(where: { !$0.isKnownBefore || !isOfElement && $0.isOfElement })
    {
      findings.error(
        "the path of a file must be known when the graph is submitted", node.place,
        hint: "it can have parameters"
          + (isOfElement ? ", ${{ item }}, ${{ index }} and ${{ matrix.KEY }}" : ""))
    }
  }
}

extension CommandText.Segment {
  fileprivate var isOfElement: Bool {
    switch self {
    case .value(.index, _), .value(.element, _): true
    case .literal, .value: false
    }
  }

  fileprivate var isKnownBefore: Bool {
    switch self {
    case .value(.output, _), .value(.secret, _): false
    case .literal, .value: true
    }
  }
}

extension CommandText {
  /// The text of an element, without what only the worker knows.
  fileprivate func filled(index: UInt32, _ values: [String]) -> String {
    segments.map { segment in
      switch segment {
      case .literal(let text): text
      case .value(.index, _): "\(index)"
      case .value(.element(let at), _): at < values.count ? values[at] : ""
      case .value(.known(let text), _): text
      case .value(.output, _), .value(.secret, _): ""
      }
    }.joined()
  }
}
