// What a service manager is told, read from a real datagram socket; time is the test's.

import Citations
import Glibc
import Testing

@testable import OpClusterSystem

/// The receiving end, as a service manager has it.
private struct ManagerSocket: ~Copyable {
  private let descriptor: Int32

  /// At a path, or under an abstract name that begins with `@`.
  init(_ name: String) throws {
    descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    var path = Array(name.utf8)
    if path.first == 0x40 { path[0] = 0 }
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path) }
    let length = socklen_t(2 + path.count + (name.hasPrefix("/") ? 1 : 0))
    let code = unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
        unsafe bind(descriptor, generic, length)
      }
    }
    try #require(code == 0)
  }

  deinit { close(descriptor) }

  /// What has been said since the last time.
  func heard() -> [String] {
    var all: [String] = []
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while true {
      let count = unsafe recv(descriptor, &buffer, buffer.count, 0)
      if count < 0 { return all }
      all.append(String(decoding: buffer.prefix(count), as: UTF8.self))
    }
  }
}

@Suite struct ServiceNotifierTests {
  // Fed at half of the manager's time, by whoever has the loop's time, once it serves.
  @Test(.checks("G23"), arguments: [true, false])
  func readyStatusAndWatchdog(isAbstract: Bool) throws {
    try withFolder { folder in
      let name = isAbstract ? "@opcluster-test-\(getpid())" : "\(folder)/notify"
      defer { if !isAbstract { _ = unsafe unlink(name) } }
      let manager = try ManagerSocket(name)
      let service = try #require(
        ServiceNotifier(
          ServiceAddress(
            socket: name, watchdogMicroseconds: "2000000", watchdogProcess: "\(getpid())")))
      service.status("reading")
      service.feed(at: 5_000_000_000)
      #expect(manager.heard() == ["STATUS=reading"])
      #expect(service.nextFeed == nil)
      service.ready("serving", at: 10_000_000_000)
      #expect(manager.heard() == ["READY=1\nSTATUS=serving"])
      #expect(service.nextFeed == 11_000_000_000)
      service.feed(at: 10_999_999_999)
      service.status("serving")
      #expect(manager.heard() == [])
      service.feed(at: 11_000_000_001)
      #expect(manager.heard() == ["WATCHDOG=1"])
      #expect(service.nextFeed == 12_000_000_001)
      // Something hangs: no food, and no turning in circles about it either.
      service.withhold(at: 12_000_000_000)
      #expect(service.nextFeed == 12_000_000_001)
      service.withhold(at: 12_000_000_001)
      #expect(manager.heard() == [] && service.nextFeed == 13_000_000_001)
      service.stopping("leaving\nREADY=1")
      #expect(manager.heard() == ["STOPPING=1\nSTATUS=leaving READY=1"])
    }
  }

  @Test func theWatchdogOfAnotherProcessIsNotFed() throws {
    try withFolder { folder in
      let name = "\(folder)/notify"
      defer { _ = unsafe unlink(name) }
      let manager = try ManagerSocket(name)
      for (time, process) in [("2000000", "1"), ("0", nil), ("much", nil)] {
        let service = try #require(
          ServiceNotifier(
            ServiceAddress(socket: name, watchdogMicroseconds: time, watchdogProcess: process)))
        service.ready("serving", at: 0)
        service.feed(at: 1 << 60)
        #expect(service.nextFeed == nil)
      }
      #expect(manager.heard().allSatisfy { $0.hasPrefix("READY=1") })
    }
  }

  // A manager that is gone, or does not read, keeps nobody waiting.
  @Test func nobodyListens() throws {
    let service = try #require(
      ServiceNotifier(ServiceAddress(socket: "/nonexistent/notify")))
    service.ready("serving", at: 0)
    service.feed(at: 1)
    for name in ["", "notify", "@", "/", "vsock:2:1234", "/" + String(repeating: "x", count: 108)] {
      #expect(ServiceNotifier(ServiceAddress(socket: name)) == nil, "\(name)")
    }
  }
}
