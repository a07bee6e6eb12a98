// `opbatch schema`: the manifest's JSON Schema, for editors and programs.

import ArgumentParser
import OpClusterManifest

/// Needs no cluster. An editor checks a manifest by it while it is written; `check` finds more,
/// since a schema knows no dependencies.
struct Schema: Command {
  static let configuration = CommandConfiguration(
    abstract: "Print the JSON Schema of manifests.",
    discussion: "For editors: # yaml-language-server: $schema=opgraph-v1.schema.json")
  @OptionGroup(title: "Common options") var global: GlobalOptions

  /// The same text for every manifest; needs no cluster.
  func perform(_ console: Console) async throws -> ExitStatus {
    try console.write(ManifestSchema.text + "\n")
    return .success
  }
}
