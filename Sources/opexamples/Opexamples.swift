// The command that runs one example on a chosen cluster and prints the result.
// `Programs.swift` has the subcommands, `Place.swift` the clusters.

import ArgumentParser
import OpClusterExamples

/// Workers for `--coordinator` and `--embedded` are `opexampleworker`, which serves the same types.
@main
struct Opexamples: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "opexamples",
    abstract: "Five classic programs with queues of operations.",
    discussion: """
      Each runs in this process, on a cluster of its own, or on yours, whose workers are \
      opexampleworker:
        opexamples images deploy/examples/images /tmp/miniatures --embedded
      """,
    subcommands: [
      RunDownloads.self, RunSumOfPairs.self, RunSum.self, RunImages.self, RunUnpack.self,
      DrawPictures.self,
    ])
}
