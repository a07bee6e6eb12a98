// Compiles a manifest's text to a submission or a list of findings: the entry point of this module.
// Called by the commands that submit or check. Any thread; keeps no state.
// The steps are folders of their own: `Reading` (text to nodes), `Decoding` (nodes to
// declarations), `Lowering` (declarations to a submission). `Shell` and `Values` serve all of them.

public import OpClusterModel

/// Compiles one manifest (interface, section 2).
public struct ManifestCompiler: Sendable {
  /// UTF-8 without more checks; `decoding` makes them for bytes.
  public var source: String
  /// The file name as the user gave it; the graph's default name derives from it.
  public var fileName: String
  public var surroundings: Surroundings
  /// Parameters from `-p NAME=VALUE`.
  /// Names that the manifest does not declare are errors, also in `opbatch check`.
  public var parameters: [String: String]
  /// Files that every command reads, besides those that the manifest names.
  public var uploads: [String] = []

  public init(
    source: String, fileName: String, surroundings: Surroundings,
    parameters: [String: String] = [:]
  ) {
    self.source = source
    self.fileName = fileName
    self.surroundings = surroundings
    self.parameters = parameters
  }

  /// Makes a compiler for the bytes of a file; `NotText` if they are not UTF-8.
  /// Bytes of a file may be anything; a YAML text may not.
  public static func decoding(
    _ bytes: [UInt8], fileName: String, surroundings: Surroundings,
    parameters: [String: String] = [:]
  ) -> Result<ManifestCompiler, NotText> {
    guard let source = String(validating: bytes, as: UTF8.self) else {
      return .failure(NotText())
    }
    return .success(
      ManifestCompiler(
        source: source, fileName: fileName, surroundings: surroundings, parameters: parameters))
  }

  /// The bytes of a manifest are not UTF-8.
  /// Findings about the bytes have no place, since lines cannot be counted in them.
  public struct NotText: Error, Hashable, Sendable {
    public var diagnostic: Diagnostic {
      Diagnostic(
        severity: .error, message: "the manifest is not UTF-8", hint: "save it as UTF-8")
    }
  }

  /// The submission is there exactly if no finding is an error. Warnings come with either.
  public struct Compilation: Sendable {
    /// The submission without key, suspension, labels and origin, which the submitter adds; nil
    /// after an error.
    public var submission: GraphSubmission?
    /// The submitter's files that operations read; whoever submits looks for them.
    public var ownFiles: [OwnFileWishes] = []
    /// Who is told of the graph; whoever submits tells them.
    public var notifications: [GraphNotification] = []
    /// The operations for `check --expand`; empty after an error.
    public var expanded: [ExpandedOperation]
    /// In the order of the text.
    /// Sorted by line; findings about the whole come last.
    public var diagnostics: [Diagnostic]
  }

  /// Compiles the manifest and reports all findings at once.
  /// Later steps run in spite of errors in earlier ones, so that one run shows all that is wrong.
  /// Only a text that is no YAML, or no mapping, ends it early.
  ///
  /// - Parameter encoders: The caller's, since this module does not know the wire format.
  public func compile(encoders: PayloadEncoders) -> Compilation {
    let (root, problems) = YAMLReader.read(source)
    let findings = Findings(source: source, surroundings: surroundings)
    for problem in problems { findings.add(problem) }
    guard let root else {
      if problems.isEmpty { findings.error("the manifest is empty", nil) }
      return Compilation(submission: nil, expanded: [], diagnostics: findings.sorted)
    }
    guard let fields = Fields(root, ManifestKeys.graph, findings) else {
      return Compilation(submission: nil, expanded: [], diagnostics: findings.sorted)
    }
    // Parameters come first: every other decoder fills them into the texts that it reads.
    ParameterDecoder(findings: findings).decode(fields.node("params"), given: parameters)
    var graph = GraphDecoder(fields: fields).decode()
    graph.uploads = uploads
    if !graph.files.isEmpty || !uploads.isEmpty {
      for at in graph.operations.indices {
        if case .run = graph.operations[at].work { graph.operations[at].readsGraphFiles = true }
      }
    }
    let lowering = Lowering(
      findings: findings, graph: graph, name: graph.name ?? defaultName,
      encoders: encoders)
    let (submission, work, ownFiles) = lowering.lower()
    // The lowering has run to find more mistakes. Its submission may have holes then, and is
    // dropped.
    if findings.hasErrors {
      return Compilation(submission: nil, expanded: [], diagnostics: findings.sorted)
    }
    let expanded = ExpandedOperation.list(submission, work)
    return Compilation(
      submission: submission, ownFiles: ownFiles, notifications: graph.notifications,
      expanded: expanded, diagnostics: findings.sorted)
  }

  /// The file name without folder and extension, made a valid name.
  private var defaultName: String {
    let last = fileName.split(separator: "/").last.map(String.init) ?? ""
    // A dot at the beginning is a part of the name, as in `.hidden`: it starts no extension.
    let stem = last.lastIndex(of: ".").map { $0 > last.startIndex ? String(last[..<$0]) : last }
    let name = Names.sanitised(stem ?? last)
    // A name of blanks or signs alone would become underscores, which say nothing.
    return name.contains { $0 != "_" } ? name : "graph"
  }
}

extension Names {
  /// Returns the nearest valid name: other characters become `_`.
  /// Cuts at the 128 bytes that a name may have. A digit, a point or a hyphen cannot begin one, so
  /// an underscore is put before it.
  static func sanitised(_ text: String) -> String {
    var bytes = text.utf8.map { isNameByte($0) ? $0 : UInt8(ascii: "_") }
    if bytes.first.map({ isDigit($0) || $0 == 0x2D || $0 == 0x2E }) ?? true {
      bytes.insert(UInt8(ascii: "_"), at: 0)
    }
    return String(decoding: bytes.prefix(128), as: UTF8.self)
  }
}
