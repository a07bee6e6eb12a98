// A worker in a delegated folder of cgroup v2: how it divides the folder and bounds what is in it.
// The division runs on the real hierarchy with whatever controller version 1 has left to it (on
// machines with version 1 that is one like hugetlb, whose limits are of no use here); the files of
// the limits of memory and processes are then those of a plain folder that has them.

import CProcess
import Glibc
import Testing

@testable import OpClusterProcesses

/// A folder of cgroup v2 for one test, with a controller that is given to it; removed at the end.
private final class DelegatedFolder {
  let root: String
  let path: String
  let controller: String
  private let wasGiven: Bool

  init?(isGiven: Bool = true) {
    guard geteuid() == 0, let home = CgroupHierarchy.unified()?.home,
      let controller = Self.words("\(home)/cgroup.controllers").first(where: {
        !["memory", "pids"].contains($0)
      })
    else { return nil }
    root = home
    self.controller = controller
    wasGiven = Self.words("\(home)/cgroup.subtree_control").contains(controller)
    path = "\(home)/opcluster-test-\(getpid())-\(UInt32.random(in: 0 ... .max))"
    guard unsafe mkdir(path, 0o755) == 0 else { return nil }
    if isGiven, !wasGiven, !Self.write("+\(controller)", "\(home)/cgroup.subtree_control") {
      return nil
    }
  }

  deinit {
    _ = unsafe op_group_kill(path)
    eventually(within: 5) { unsafe op_group_remove(self.path) == 0 }
    if !wasGiven { _ = Self.write("-\(controller)", "\(root)/cgroup.subtree_control") }
  }

  /// Runs the stand-in there, and says what it printed.
  func delegate(movesSelf: Bool = true) throws -> String {
    let bench = try Bench(.walk)
    let words = [try StandIn.path(), "delegate", path, (movesSelf ? "" : "-") + controller]
    let ended = try bench.run(bench.command(words))
    return ended.status == .exited(0) ? try bench.output() : "\(ended.status)"
  }

  var isDivided: Bool { Self.words("\(path)/cgroup.subtree_control").contains(controller) }
  var limits: [String] { namesOfFolder("\(path)/run").filter { $0.hasPrefix("\(controller).") } }
  var own: String { "/" + (path.split(separator: "/").last ?? "") }

  static func words(_ path: String) -> [String] {
    let bytes = Descriptor.open(path, O_RDONLY)?.read(upTo: 4_096) ?? []
    return String(decoding: bytes, as: UTF8.self).split { $0 == " " || $0 == "\n" }.map(String.init)
  }

  static func write(_ text: String, _ path: String, _ flags: Int32 = 0) -> Bool {
    Descriptor.open(path, O_WRONLY | flags, mode: 0o600)?.write(Array(text.utf8)) ?? false
  }
}

extension ProcessTests {
  @Suite(.serialized) struct DelegationTests {
    private static let isPossible = DelegatedFolder() != nil

    @Test("The worker alone in its folder steps aside and divides it", .enabled(if: isPossible))
    func alone() throws {
      let folder = try #require(DelegatedFolder())
      let said = try folder.delegate()
      #expect(said == "\(folder.controller) \(folder.own)/opcluster-worker\n")
      #expect(folder.isDivided && !folder.limits.isEmpty)
      #expect(
        namesOfFolder("\(folder.path)/run/exclusive").contains("cgroup.subtree_control"))
    }

    @Test("It does not move where it may not, or is not alone", .enabled(if: isPossible))
    func notAlone() throws {
      let still = try #require(DelegatedFolder())
      #expect(try still.delegate(movesSelf: false) == " \(still.own)\n")
      #expect(!still.isDivided)
      let shared = try #require(DelegatedFolder())
      let other = try StandIn(.walk, "sleep 1000")
      defer { other.end(SIGKILL) }
      #expect(DelegatedFolder.write("\(other.process)", "\(shared.path)/cgroup.procs"))
      #expect(try shared.delegate() == " \(shared.own)\n", "and back again")
      #expect(!shared.isDivided)
      #expect(!namesOfFolder(shared.path).contains("opcluster-worker"))
    }

    @Test("What was not given to the folder is not on", .enabled(if: isPossible))
    func notGiven() throws {
      let folder = try #require(DelegatedFolder(isGiven: false))
      guard !DelegatedFolder.words("\(folder.path)/cgroup.controllers").contains(folder.controller)
      else { return }
      #expect(try folder.delegate() == " \(folder.own)\n")
    }

    @Test("The limits of version 2 are these files")
    func limitFiles() throws {
      let bench = try Bench(.walk)
      let parent = "\(bench.folder)/cgroup"
      let folder = "\(parent)/0"
      #expect(unsafe mkdir(parent, 0o755) == 0 && mkdir(folder, 0o755) == 0)
      defer {
        for name in namesOfFolder(folder) { unsafe unlink("\(folder)/\(name)") }
        _ = unsafe rmdir(folder)
        _ = unsafe rmdir(parent)
      }
      let files = [
        "cgroup.events": "populated 1\nfrozen 0\n", "cgroup.procs": "12\n345\n",
        "cgroup.kill": "", "memory.max": "max", "memory.swap.max": "max", "memory.oom.group": "0",
        "memory.events": "low 0\nhigh 0\nmax 9\noom 4\noom_kill 3\n", "pids.max": "max",
        "pids.events": "max 2\n",
      ]
      for (name, text) in files {
        #expect(DelegatedFolder.write(text, "\(folder)/\(name)", O_CREAT))
      }
      func content(_ name: String) -> String { DelegatedFolder.words("\(folder)/\(name)").joined() }
      let home = Descriptor.open(parent, O_RDONLY | O_DIRECTORY)
      guard
        let group = ProcessGroup("0", isExclusive: false, expiries: 0, unified: home, legacy: [])
      else {
        Issue.record("the group cannot be made")
        return
      }
      #expect(group.isPopulated && group.processes == [12, 345])
      #expect(group.setLimits(memory: 1 << 30, processes: 4_096))
      #expect(content("memory.max") == "1073741824" && content("pids.max") == "4096")
      #expect(content("memory.oom.group") == "1" && content("memory.swap.max").hasPrefix("0"))
      #expect(group.counts == LimitCounts(memoryKills: 3, refusedProcesses: 2))
      #expect(group.counts - group.countsBefore == LimitCounts())
      #expect(group.setLimits(memory: nil, processes: nil))
      #expect(content("memory.max").hasPrefix("max") && content("pids.max").hasPrefix("max"))
      group.kill()
      #expect(content("cgroup.kill") == "1" && group.wasKilled)
      // A controller that is not there bounds nothing, and says so.
      #expect(unsafe unlink("\(folder)/pids.max") == 0)
      #expect(!group.setLimits(memory: nil, processes: 7))
    }
  }
}
