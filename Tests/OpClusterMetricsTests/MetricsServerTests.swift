// The server over real connections.

import Glibc
import OpClusterHTTP
import OpClusterSystem
import RealCluster
import Synchronization
import Testing

@testable import OpClusterMetrics

@Suite struct MetricsServerTests {
  @Test func serves() throws {
    let address = try #require(HTTPAddress("127.0.0.1:0"))
    let server = try MetricsServer(address) { [MetricFamily("x", .gauge, "Of x.", 3)] }
    defer { server.stop() }
    #expect(server.address.port != 0)
    let text = try PlainHTTP.get("/metrics", from: server.address.port)
    #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n"))
    #expect(text.hasSuffix("\r\n\r\n# HELP x Of x.\n# TYPE x gauge\nx 3\n"))
    let open = try PlainHTTP.get(
      "/metrics", from: server.address.port, headers: "Accept: application/openmetrics-text\r\n")
    #expect(open.hasSuffix("# EOF\n") && open.contains("application/openmetrics-text"))
    #expect(try PlainHTTP.get("/other", from: server.address.port).hasPrefix("HTTP/1.1 404"))
    let post = "POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    #expect(try PlainHTTP.send(post, to: server.address.port).hasPrefix("HTTP/1.1 405"))
    // A header without end costs its connection alone.
    let long = "GET /metrics HTTP/1.1\r\nX: \(String(repeating: "y", count: 100_000))\r\n\r\n"
    #expect(try !PlainHTTP.send(long, to: server.address.port).contains("200 OK"))
    #expect(try PlainHTTP.get("/metrics", from: server.address.port).hasPrefix("HTTP/1.1 200"))
  }

  /// Who asks all the time costs the owner of the figures no more than a few answers a second.
  @Test func whoAsksOften() throws {
    let answers = Atomic<Int>(0)
    let address = try #require(HTTPAddress("127.0.0.1:0"))
    let server = try MetricsServer(address) {
      answers.wrappingAdd(1, ordering: .relaxed)
      return []
    }
    let start = ContinuousClock.now
    for _ in 0..<200 {
      let text = try PlainHTTP.get("/metrics", from: server.address.port)
      #expect(text.hasPrefix("HTTP/1.1 200"))
    }
    let most = Int((ContinuousClock.now - start) / MetricsServer.leastAge) + 1
    #expect(answers.load(ordering: .relaxed) <= most)
    server.stop()
  }

  /// Descriptors beyond those that select can watch are usual in a coordinator.
  @Test func highDescriptors() throws {
    var limit = rlimit()
    _ = unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = min(limit.rlim_max, max(limit.rlim_cur, 4_096))
    _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    var taken: [Int32] = []
    defer { for descriptor in taken { close(descriptor) } }
    while taken.last ?? 0 < 1_100 {
      let descriptor = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
      try #require(descriptor >= 0)
      taken.append(descriptor)
    }
    let address = try #require(HTTPAddress("127.0.0.1:0"))
    let server = try MetricsServer(address) { [] }
    #expect(try PlainHTTP.get("/metrics", from: server.address.port).hasPrefix("HTTP/1.1 200"))
    server.stop()
  }

  @Test func anAddressThatIsTaken() throws {
    let address = try #require(HTTPAddress("127.0.0.1:0"))
    let server = try MetricsServer(address) { [] }
    let same = server.address
    let error = #expect(throws: HTTPServerError.self) { _ = try MetricsServer(same) { [] } }
    #expect(error?.description.contains("Address already in use") == true)
    server.stop()
  }

  /// The owner of the figures answers on its own thread; one that does not is not waited for.
  @Test func questions() throws {
    let asked = Mutex<[MetricsQuestion]>([])
    let thread = try startThread(name: "owner") {
      while true {
        if let question = asked.withLock({ $0.popLast() }) {
          return question.answer([MetricFamily("x", .gauge, "X.", 1)])
        }
        usleep(1_000)
      }
    }
    let families = MetricsQuestion.ask { question in
      asked.withLock { $0.append(question) }
      return true
    }
    thread.join()
    #expect(families?.map(\.name) == ["x"])
    #expect(MetricsQuestion.ask { _ in false } == nil)
  }

  @Test func ofThisProcess() {
    let families = [MetricFamily].ofThisProcess() + .ofDisk(at: "/", "disk_bytes")
    #expect(
      families.map(\.name) == [
        "process_resident_memory_bytes", "process_cpu_seconds", "process_max_fds", "disk_bytes",
      ])
    #expect([MetricFamily].ofDisk(at: "/none", "x").isEmpty)
  }
}
