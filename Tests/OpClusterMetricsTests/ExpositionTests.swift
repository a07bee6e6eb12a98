// How figures are written down, and what a request is answered.

import OpClusterHTTP
import Testing

@testable import OpClusterMetrics

@Suite struct ExpositionTests {
  private static let families = [
    MetricFamily("x_bytes", .counter, "Bytes \\ \"of\"\nx.", UInt64(7)),
    MetricFamily("y", .gauge, "Of y.", by: "name", [("a\"b\\c\nd", 1.5), ("e", -2)]),
    MetricFamily("none", .gauge, "Nothing.", []),
  ]

  @Test func text() {
    #expect(
      Exposition.prometheusText.text(Self.families) == #"""
        # HELP x_bytes_total Bytes \\ "of"\nx.
        # TYPE x_bytes_total counter
        x_bytes_total 7
        # HELP y Of y.
        # TYPE y gauge
        y{name="a\"b\\c\nd"} 1.5
        y{name="e"} -2

        """#)
  }

  @Test func openMetrics() {
    #expect(
      Exposition.openMetrics.text(Self.families) == #"""
        # HELP x_bytes Bytes \\ \"of\"\nx.
        # TYPE x_bytes counter
        # UNIT x_bytes bytes
        x_bytes_total 7
        # HELP y Of y.
        # TYPE y gauge
        y{name="a\"b\\c\nd"} 1.5
        y{name="e"} -2
        # EOF

        """#)
  }

  @Test func histograms() {
    var histogram = Histogram(bounds: [0.5, 1, 10])
    for value in [0, 0.5, 0.6, 1, 9, 11, 1e9] { histogram.observe(value) }
    histogram.observe(2, times: 3)
    for value in [-1, .nan, .infinity] { histogram.observe(value) }
    #expect(histogram.counts == [2, 2, 4, 2])
    let family = MetricFamily("h_seconds", .histogram, "H.", [.init(.histogram(histogram))])
    #expect(
      Exposition.prometheusText.text([family]) == """
        # HELP h_seconds H.
        # TYPE h_seconds histogram
        h_seconds_bucket{le="0.5"} 2
        h_seconds_bucket{le="1.0"} 4
        h_seconds_bucket{le="10.0"} 8
        h_seconds_bucket{le="+Inf"} 10
        h_seconds_sum 1000000028.1
        h_seconds_count 10

        """)
    for bounds in [Histogram.operationSeconds, Histogram.turnSeconds] {
      #expect(bounds == bounds.sorted() && Set(bounds).count == bounds.count)
    }
  }

  @Test func numbersThatAreNone() {
    let family = MetricFamily(
      "n", .gauge, "N.", by: "v", [("a", .nan), ("b", .infinity), ("c", -.infinity), ("d", 1e300)])
    let lines = Exposition.prometheusText.text([family]).split(separator: "\n").dropFirst(2)
    #expect(lines.map { $0.split(separator: " ")[1] } == ["NaN", "+Inf", "-Inf", "1e+300"])
  }

  @Test func negotiation() {
    let openMetrics = "application/openmetrics-text"
    #expect(Exposition(accept: nil) == .prometheusText)
    #expect(Exposition(accept: "*/*") == .prometheusText)
    #expect(Exposition(accept: "text/html, application/xml;q=0.9") == .prometheusText)
    #expect(Exposition(accept: "\(openMetrics); version=1.0.0; charset=utf-8") == .openMetrics)
    // As Prometheus 2 asks.
    #expect(
      Exposition(
        accept: "\(openMetrics);version=1.0.0,\(openMetrics);version=0.0.1;q=0.75,"
          + "text/plain;version=0.0.4;q=0.5,*/*;q=0.1") == .openMetrics)
    #expect(Exposition(accept: "\(openMetrics);q=0.1, text/plain;q=0.9") == .prometheusText)
    #expect(Exposition(accept: "\(openMetrics);q=x") == .prometheusText)
  }

  @Test func answers() {
    func answer(_ method: String, _ path: String, _ figures: [MetricFamily]? = []) -> Answer {
      Answer(to: Request(path: path, method: method, accept: nil)) { figures }
    }
    #expect(answer("GET", "/metrics", Self.families).status == 200)
    #expect(answer("GET", "/metrics").headers["Content-Type"]?.contains("0.0.4") == true)
    #expect(answer("HEAD", "/metrics").status == 200)
    #expect(answer("GET", "/metrics/").status == 404)
    #expect(answer("GET", "/").status == 404)
    #expect(answer("POST", "/metrics").headers["Allow"] == "GET, HEAD")
    let late = answer("GET", "/metrics", nil)
    #expect(late.status == 503 && late.headers["Retry-After"] == "5")
  }

  @Test func addresses() {
    for (text, shown) in [
      ("127.0.0.1:9420", "127.0.0.1:9420"), ("localhost:0", "127.0.0.1:0"),
      ("[::1]:65535", "[::1]:65535"), ("*:1", "*:1"), ("0.0.0.0:9", "0.0.0.0:9"),
    ] { #expect(HTTPAddress(text)?.description == shown) }
    for text in [
      "", ":", ":9420", "9420", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1",
      "::1:9420", "[::1]", "[127.0.0.1]:9420", "example.org:9420", "http://127.0.0.1:9420",
      "127.0.0.1:9420/metrics", "300.0.0.1:9420",
    ] { #expect(HTTPAddress(text) == nil, "\(text)") }
    #expect(HTTPAddress("[::1]:9")?.isLoopback == true)
    #expect(HTTPAddress("*:9")?.isLoopback == false)
  }
}
