// How much memory there is, by the files of the kernel, and what that means for graphs (G29). Pure.

import OpClusterModel
import Testing

@testable import OpClusterCoordinator

@Suite struct MemoryRoomTests {
  private static let meminfo = "MemTotal:       16000000 kB\nMemFree:  1 kB\n"

  private func found(_ files: [String: String], address: UInt64? = nil) -> MemoryBound? {
    MemoryBound.found(address: address) { files[$0] }
  }

  // MARK: - What the kernel says

  @Test func theMachine() {
    #expect(found(["/proc/meminfo": Self.meminfo])?.resident == 16_384_000_000)
    #expect(found([:]) == nil)
    for text in ["MemTotal: x kB", "MemTotal:", "MemTotal: 99999999999999999999 kB", "MemTotal: 0"]
    {
      #expect(MemoryBound.machineBytes(text) == nil, "\(text)")
    }
    #expect(MemoryBound.machineBytes("MemTotal: \(UInt64.max / 2) kB") == nil)
    #expect(found([:], address: 1 << 30) == MemoryBound(resident: 1 << 30, address: 1 << 30))
  }

  @Test func groupsOfTheFirstVersion() {
    let groups = "8:pids:/\n4:memory:/a/b\n0::/\n"
    let mounts = """
      31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
      35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
      36 31 0:33 / /sys/fs/cgroup/pids rw,relatime shared:7 - cgroup cgroup rw,pids
      """
    let name = "memory.limit_in_bytes"
    #expect(
      ControlGroups.memoryFiles(groups: groups, mounts: mounts) == [
        "/sys/fs/cgroup/memory/\(name)", "/sys/fs/cgroup/memory/a/\(name)",
        "/sys/fs/cgroup/memory/a/b/\(name)",
      ])
    var files = [
      "/proc/meminfo": Self.meminfo, "/proc/self/cgroup": groups, "/proc/self/mountinfo": mounts,
      "/sys/fs/cgroup/memory/\(name)": "9223372036854771712\n",
      "/sys/fs/cgroup/memory/a/b/\(name)": "9223372036854771712\n",
    ]
    #expect(found(files)?.resident == 16_384_000_000)
    // Any group around it counts.
    files["/sys/fs/cgroup/memory/a/\(name)"] = "201326592\n"
    #expect(found(files)?.resident == 192 << 20)
  }

  @Test func groupsOfTheSecondVersion() {
    let groups = "0::/system.slice/opcoord.service\n"
    let mounts = "25 20 0:22 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
    var files = [
      "/proc/meminfo": Self.meminfo, "/proc/self/cgroup": groups, "/proc/self/mountinfo": mounts,
      "/sys/fs/cgroup/system.slice/opcoord.service/memory.max": "max\n",
    ]
    #expect(found(files)?.resident == 16_384_000_000)
    files["/sys/fs/cgroup/system.slice/memory.max"] = "1073741824\n"
    #expect(found(files)?.resident == 1 << 30)
    files["/sys/fs/cgroup/system.slice/opcoord.service/memory.high"] = "536870912\n"
    #expect(found(files)?.resident == 512 << 20)
    files["/sys/fs/cgroup/system.slice/opcoord.service/memory.high"] = "-1\n"
    #expect(found(files)?.resident == 1 << 30)
  }

  /// In a container a part of the tree is mounted, whose root is the container's own group.
  @Test func groupsOfContainers() {
    let mounts = "25 20 0:22 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n"
    for group in ["/docker/abc", "/", "/../../other"] {
      let files = ControlGroups.memoryFiles(groups: "0::\(group)", mounts: mounts)
      #expect(files.first == "/sys/fs/cgroup/memory.max" && files.count == 2, "\(group)")
    }
    let deeper = ControlGroups.memoryFiles(groups: "0::/docker/abc/x", mounts: mounts)
    #expect(deeper.contains("/sys/fs/cgroup/x/memory.max"))
    #expect(ControlGroups.memoryFiles(groups: "x\n::\n0::", mounts: "- -\n1 2 3 4 5 -").isEmpty)
  }

  @Test func whatAProcessTakes() {
    let use = MemoryUse(statm: "1000 250 30 1 0 200 0\n", pageBytes: 4_096)
    #expect(use == MemoryUse(resident: 250 * 4_096, address: 1_000 * 4_096))
    for text in ["", "1", "x y", "1 \(UInt64.max)"] {
      #expect(MemoryUse(statm: text, pageBytes: 4_096) == nil, "\(text)")
    }
    #expect(MemoryUse.ofThisProcess().map { $0.resident > 0 && $0.address >= $0.resident } == true)
    #expect(MemoryBound.ofThisProcess().map { $0.resident > 0 } == true)
  }

  // MARK: - Room

  private let small = MemoryBound(resident: 192 << 20)

  @Test func graphsUpToTheMemory() {
    var room = MemoryRoom(small)
    let cost = MemoryRoom.cost(templates: 1_000, operations: 1_000, bytes: 100_000)
    var count: UInt32 = 0
    while count < 10_000, room.lackOfRoom(for: cost) == nil {
      count += 1
      room.began(GraphID(count), cost: cost)
    }
    // Before the kernel does it: at 195,000 operations it had.
    #expect(count > 20 && count < 100)
    #expect(room.cost < 192 << 20 && UInt64(room.cost) < small.resident / 10 * 6)
    let refusal = room.lackOfRoom(for: cost)
    #expect(refusal?.code == .busy && refusal?.lacksRoom == true && refusal?.retryAfter != nil)
    room.ended(GraphID(1))
    room.ended(GraphID(1))
    #expect(room.lackOfRoom(for: cost) == nil)
    for graph in 2...count { room.ended(GraphID(graph)) }
    #expect(room.cost == 0)
    // What can never fit is not to be waited for.
    let huge = MemoryRoom.cost(templates: 200_000, operations: 200_000, bytes: 16 << 20)
    #expect(room.lackOfRoom(for: huge)?.code == .limitExceeded)
    #expect(room.lackOfRoom(for: huge)?.message.contains("192 MiB") == true)
  }

  @Test func whatTheProcessTakesIsASecondBrake() {
    var room = MemoryRoom(small)
    let cost = MemoryRoom.cost(templates: 10, operations: 10, bytes: 100)
    room.began(GraphID(1), cost: cost)
    room.note(MemoryUse(resident: 150 << 20, address: 1 << 40))
    #expect(!room.isTight && room.lackOfRoom(for: cost) == nil)
    room.note(MemoryUse(resident: 160 << 20, address: 1 << 40))
    #expect(room.isTight && room.lackOfRoom(for: cost)?.code == .busy)
    var trims: [Bool] = []
    for pause in [Span.zero, .seconds(1), MemoryRoom.trimPause] {
      trims.append(room.shouldTrim(at: .zero + pause))
    }
    #expect(trims == [true, false, true])
    // Where nothing lives, waiting would not help.
    room.ended(GraphID(1))
    #expect(room.lackOfRoom(for: cost) == nil)
    #expect(
      room.lackOfRoom(for: MemoryRoom.cost(templates: 20_000, operations: 1, bytes: 1)) != nil)
    var limited = MemoryRoom(MemoryBound(resident: 1 << 40, address: 1 << 30))
    limited.note(MemoryUse(resident: 1 << 20, address: 900 << 20))
    #expect(limited.isTight)
  }

  @Test func withoutABoundThereIsRoom() {
    var room = MemoryRoom(nil)
    room.began(GraphID(1), cost: 1 << 40)
    room.note(MemoryUse(resident: 1 << 40, address: 1 << 40))
    #expect(room.lackOfRoom(for: 1 << 40) == nil && !room.isTight)
    #expect(room.waitingBytes == Limits.waitingBytes)
    #expect(MemoryRoom(small).waitingBytes == 24 << 20)
    #expect(MemoryRoom(MemoryBound(resident: .max)).lackOfRoom(for: 1 << 40) == nil)
    let most = MemoryRoom.cost(templates: .max, operations: .max, bytes: .max)
    #expect(most > 0 && MemoryRoom.cost(templates: -1, operations: -1, bytes: -1) == 0)
    #expect(MemoryRoom(MemoryBound(resident: 0)).lackOfRoom(for: most)?.code == .limitExceeded)
  }
}
