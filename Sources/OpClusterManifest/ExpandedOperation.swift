// What `opbatch check --expand` shows: the operations of a submission with their elements and
// their commands as far as they are known. Made by the compiler, read by the command.

public import OpClusterModel

/// One operation of a checked manifest, and its elements.
public struct ExpandedOperation: Hashable, Sendable {
  public var name: String
  public var count: UInt32
  public var isArray: Bool
  public var queue: String
  public var needs: [Need]
  /// Parameters are put in; `${{ item }}` and the like stand where each element differs.
  public var command: String
  private let template: OperationTemplate
  private let specification: CommandSpecification?

  public struct Need: Hashable, Sendable {
    public var name: String
    public var policy: EdgePolicy
    public var match: GroupEdge.Match
  }

  /// One element: `name/index`, and the command with its values in place.
  public struct Element: Hashable, Sendable {
    public var index: UInt32
    /// `item`, or the axes of a matrix, in the order of `keys`.
    public var values: [String]
    public var keys: [String]
    public var command: String
  }

  /// An element, counted from 0 to `count`.
  public func element(_ element: UInt32) -> Element {
    let keys = specification?.elementKeys ?? []
    var values: [String] = []
    if !keys.isEmpty, Int(element) < template.elementArguments.count {
      values =
        ElementValues.decode(template.elementArguments[Int(element)], keyCount: keys.count) ?? []
    }
    let index = template.shownIndex(ofElement: element)
    let command = specification.map { Self.describe($0, index: index, values: values) }
    return Element(index: index, values: values, keys: keys, command: command ?? self.command)
  }

  static func list(
    _ submission: GraphSubmission, _ commands: [CommandSpecification?]
  ) -> [ExpandedOperation] {
    var needs = [[Need]](repeating: [], count: submission.templates.count)
    for edge in submission.groupEdges {
      needs[Int(edge.to)].append(
        Need(
          name: submission.templates[Int(edge.from)].name, policy: edge.policy,
          match: edge.match))
    }
    return submission.templates.indices.map { at in
      ExpandedOperation(submission, at, commands[at], needs[at])
    }
  }

  private init(
    _ submission: GraphSubmission, _ at: Int, _ command: CommandSpecification?, _ needs: [Need]
  ) {
    template = submission.templates[at]
    specification = command
    name = template.name
    count = template.count
    isArray = template.isArray
    self.needs = needs
    switch submission.queues[Int(template.queue)] {
    case .named(let name): queue = name
    case .own(let settings): queue = settings.name
    }
    switch template.work {
    case .nothing: self.command = "(barrier)"
    case .call(let type): self.command = "(call \(type.name))"
    case .command:
      self.command = command.map { Self.describe($0, index: nil, values: nil) } ?? ""
    }
  }

  private static func describe(
    _ command: CommandSpecification, index: UInt32?, values: [String]?
  ) -> String {
    func shown(_ text: CommandText) -> String {
      var result = ""
      for segment in text.segments {
        switch segment {
        case .literal(let literal): result += literal
        case .value(let value, let quoting):
          guard let known = known(value, index, values) else {
            result += "${{ \(placeholder(value, command.elementKeys)) }}"
            continue
          }
          result += quoting == .shell ? ShellText.quoted(known) : known
        }
      }
      return result
    }
    switch command.form {
    case .shell(_, let text): return shown(text)
    case .arguments(let words):
      return words.map { word in
        let text = shown(word)
        return text.contains("${{") ? text : ShellText.quoted(text)
      }.joined(separator: " ")
    }
  }

  private static func known(_ value: CommandText.Value, _ index: UInt32?, _ values: [String]?)
    -> String?
  {
    switch value {
    case .index: index.map(String.init)
    case .element(let at): values.flatMap { at < $0.count ? $0[at] : nil }
    case .output: nil
    }
  }

  private static func placeholder(_ value: CommandText.Value, _ keys: [String]) -> String {
    switch value {
    case .index: "index"
    case .element(let at): keys == ["item"] ? "item" : "matrix.\(at < keys.count ? keys[at] : "")"
    case .output(let operation, let key): "needs.\(operation).outputs.\(key)"
    }
  }
}
