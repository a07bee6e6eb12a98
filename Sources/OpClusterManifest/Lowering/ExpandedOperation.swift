// The operations that `opbatch check --expand` shows: a submission's operations with their
// elements, and their commands as far as they are known. Made by the compiler, read by the command.
// Elements are computed when they are asked for: an array may have millions, and few are shown.

public import OpClusterModel

/// One operation of a checked manifest, and its elements.
public struct ExpandedOperation: Hashable, Sendable {
  public var name: String
  public var count: UInt32
  public var isArray: Bool
  /// As people name it: a queue of the graph by its own name.
  public var queue: String
  /// In the order of the graph's edges.
  public var needs: [Need]
  /// The command with its parameters filled in. `${{ item }}` and the like mark values that differ
  /// by element.
  public var command: String
  private let template: OperationTemplate
  private let work: LoweredWork

  /// A need of a group appears as needs of its joint or its members, as the coordinator sees it.
  public struct Need: Hashable, Sendable {
    public var name: String
    public var policy: EdgePolicy
    public var match: GroupEdge.Match
  }

  /// One element: `name/index`, and the command with its values in place.
  public struct Element: Hashable, Sendable {
    public var index: UInt32
    /// The values, in the order of `keys`: `item`, or the axes of a matrix.
    public var values: [String]
    public var keys: [String]
    public var command: String
  }

  /// Returns an element by its position, from 0 up to `count`.
  /// An element has its values filled in; outputs and secrets stay places.
  public func element(_ element: UInt32) -> Element {
    let (keys, arguments) = elementValues
    var values: [String] = []
    if !keys.isEmpty, Int(element) < arguments.count {
      values = ElementValues.decode(arguments[Int(element)], keyCount: keys.count) ?? []
    }
    let index = template.shownIndex(ofElement: element)
    let command = Self.describe(work, index: index, values: values)
    return Element(index: index, values: values, keys: keys, command: command)
  }

  /// The keys of the element values that commands use, and the values of each element.
  /// Calls show no values: their arguments are JSON, which is not a command.
  private var elementValues: (keys: [String], values: ElementArguments) {
    switch work {
    case .command(let command): return (command.elementKeys, template.elementArguments)
    case .blocks(let blocks, let values):
      for case .command(let command) in blocks { return (command.elementKeys, values) }
      return ([], ElementArguments())
    case .barrier, .group, .call: return ([], ElementArguments())
    }
  }

  /// O(templates + edges). Positions of `work` are those of the templates.
  static func list(
    _ submission: GraphSubmission, _ work: [LoweredWork]
  ) -> [ExpandedOperation] {
    var needs = [[Need]](repeating: [], count: submission.templates.count)
    for edge in submission.groupEdges {
      needs[Int(edge.to)].append(
        Need(
          name: submission.templates[Int(edge.from)].name, policy: edge.policy,
          match: edge.match))
    }
    return submission.templates.indices.map { at in
      ExpandedOperation(submission, at, work[at], needs[at])
    }
  }

  /// Expects a submission without errors: positions of queues are in bounds.
  private init(
    _ submission: GraphSubmission, _ at: Int, _ work: LoweredWork, _ needs: [Need]
  ) {
    template = submission.templates[at]
    self.work = work
    name = template.name
    count = template.count
    isArray = template.isArray
    self.needs = needs
    switch submission.queues[Int(template.queue)] {
    case .named(let name): queue = name
    case .own(let settings): queue = settings.name
    }
    // Without values, so that places stay visible.
    command = Self.describe(work, index: nil, values: nil)
  }

  /// Returns one line per block.
  /// nil for index and values means that places are shown in their stead.
  private static func describe(
    _ work: LoweredWork, index: UInt32?, values: [String]?
  ) -> String {
    switch work {
    case .barrier: return "(barrier)"
    case .group: return "(group)"
    case .call(let type): return describe(type)
    case .command(let command): return describe(command, index: index, values: values)
    case .blocks(let blocks, _):
      return blocks.map { block in
        switch block {
        case .call(let type, _), .filledCall(let type, _): describe(type)
        case .command(let command): describe(command, index: index, values: values)
        }
      }.joined(separator: "\n")
    }
  }

  /// Version 1 is the usual one, and is not shown.
  private static func describe(_ type: OperationType) -> String {
    type.version == 1 ? "(call \(type.name))" : "(call \(type.name)@\(type.version))"
  }

  /// Words are quoted as a shell would need them, so that a line can be copied.
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

  /// A secret is never known here, so that it cannot be shown (G39).
  private static func known(_ value: CommandText.Value, _ index: UInt32?, _ values: [String]?)
    -> String?
  {
    switch value {
    case .index: index.map(String.init)
    case .element(let at): values.flatMap { at < $0.count ? $0[at] : nil }
    case .output, .secret: nil
    case .known(let text): text
    }
  }

  /// As the manifest would write it, without the braces.
  private static func placeholder(_ value: CommandText.Value, _ keys: [String]) -> String {
    switch value {
    case .index: "index"
    case .element(let at): keys == ["item"] ? "item" : "matrix.\(at < keys.count ? keys[at] : "")"
    case .output(let operation, let key): "needs.\(operation).outputs.\(key)"
    case .known(let text): text
    case .secret: "secret"
    }
  }
}
