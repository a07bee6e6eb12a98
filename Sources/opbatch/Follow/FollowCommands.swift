// The commands that show state and wait: the list for the root of the command tree.

import ArgumentParser

/// In the order of the help page: from a list of everything to everything about one thing.
enum FollowCommands {
  static let all: [any ParsableCommand.Type] = [
    List.self, Show.self, Top.self, OpenPage.self,
    Watch.self, Wait.self, Logs.self, Why.self, Draw.self,
    Events.self, Story.self, ListFiles.self, Stats.self, Report.self, Trace.self, Fetch.self,
  ]
}
