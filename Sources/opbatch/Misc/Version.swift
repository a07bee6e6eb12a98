// `opbatch version`. The protocol's range is what decides whether opbatch and a coordinator
// understand each other, never the build's name (G32).

import ArgumentParser
import OpClusterModel
import OpClusterPresentation

/// Talks to nobody: the coordinator's own version is in `ping` and `doctor`. Two builds of one
/// release may speak the same range, and a newer one may speak more.
struct Version: Command {
  static let configuration = CommandConfiguration(
    abstract: "Print the versions of program and protocol.")
  @OptionGroup(title: "Common options") var global: GlobalOptions

  func perform(_ console: Console) async throws -> ExitStatus {
    let spoken = ProtocolVersions.current
    // The numbers apart, so that a program can compare them.
    if console.wantsJSON {
      try console.write(
        jsonDocument { json in
          json.field("version", Build.version)
          json.field("protocol_lowest", spoken.lowest)
          json.field("protocol_highest", spoken.highest)
        })
    } else {
      let range =
        spoken.lowest == spoken.highest
        ? "\(spoken.lowest)" : "\(spoken.lowest) to \(spoken.highest)"
      try console.writeLine(
        "opbatch \(Build.version), protocol \(range), manifest 1, output \(jsonSchema)")
    }
    return .success
  }
}
