// The command that runs one example on a chosen cluster and prints the result.

import ArgumentParser
import OpClusterExamples

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
