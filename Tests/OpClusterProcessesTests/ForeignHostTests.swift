// A host in somebody else's program: no subreaper, no reaping of strangers, with and without
// cgroups; and the channel to a child.

import Citations
import Glibc
import Testing

@testable import OpClusterProcesses

extension ProcessTests {
  @Suite struct ForeignHostTests {
    private static func wait(_ host: ProcessHost) throws -> EndedProcess {
      let deadline = ContinuousClock.now + .seconds(30)
      while ContinuousClock.now < deadline {
        var request = pollfd(fd: host.descriptor, events: Int16(POLLIN), revents: 0)
        _ = unsafe poll(&request, 1, 100)
        if let ended = host.collectEnded().first { return ended }
      }
      throw Late()
    }
    private struct Late: Error {}

    // The main process's group and session go with it, whoever is their parent by then.
    @Test(.checks("G20"), arguments: [true, false])
    func treesEnd(useGroups: Bool) throws {
      let fence = try #require(ProcessFence(worker: "foreign"))
      let host = try ProcessHost(
        fence: fence, groups: useGroups ? .all : .none, adoptsOrphans: false)
      let script = "trap '' TERM; (trap '' TERM; while :; do sleep 0.05; done) & exit 0"
      _ = try host.start(
        ProcessSpecification(command: .shell(script, prefix: ["/bin/sh", "-c"])), token: 1)
      #expect(try Self.wait(host).status == .exited(0))
      #expect(ProcessTable.all().allSatisfy { !Self.isMarked($0.process, fence) })
      let reference = try host.start(
        ProcessSpecification(
          command: .shell("sleep 100 & sleep 100; wait", prefix: ["/bin/sh", "-c"])), token: 2)
      host.killTree(reference)
      #expect(try Self.wait(host).status == .signalled(SIGKILL))
      #expect(ProcessTable.all().allSatisfy { !Self.isMarked($0.process, fence) })
      #expect(host.count == 0)
    }

    private static func isMarked(_ process: Int32, _ fence: ProcessFence) -> Bool {
      guard let environment = Descriptor.open("/proc/\(process)/environ", O_RDONLY) else {
        return false
      }
      return String(decoding: environment.read(upTo: 1 << 16) ?? [], as: UTF8.self)
        .contains(fence.sessionEntry)
    }

    // Frames of any size come through whole and in order, and the end is seen.
    @Test func frames() throws {
      let (near, far) = try FrameChannel.pair()
      let fence = try #require(ProcessFence(worker: "foreign"))
      let host = try ProcessHost(fence: fence, adoptsOrphans: false)
      #expect(host.watch(near))
      // `cat` sends back what it gets: its standard output must be the channel, too.
      _ = try host.start(
        ProcessSpecification(
          command: .shell("exec cat <&0 >&0", prefix: ["/bin/sh", "-c"]), input: .channel(far)),
        token: 1)
      let frames: [[UInt8]] = [[], [1], Array(repeating: 7, count: 1 << 20), [2, 3]]
      for frame in frames { near.send(frame) }
      var received: [[UInt8]] = []
      let deadline = ContinuousClock.now + .seconds(30)
      while received.count < frames.count, ContinuousClock.now < deadline {
        near.flush()
        switch near.receive() {
        case .frame(let frame): received.append(frame)
        case .nothing:
          var request = pollfd(fd: host.descriptor, events: Int16(POLLIN), revents: 0)
          _ = unsafe poll(&request, 1, 5)
        case .closed: throw Late()
        }
      }
      #expect(received == frames)
      #expect(Frame.length([0, 1, 0, 2]) == 65_538 && Frame.length([0, 1, 0]) == nil)
      _ = host.endAll(within: .seconds(10))
    }
  }
}
