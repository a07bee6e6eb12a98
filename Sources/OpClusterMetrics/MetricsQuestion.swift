// How the server's thread gets figures from a loop, which owns them.

import OpClusterSystem

/// A question to the thread that owns the figures.
public struct MetricsQuestion: Sendable {
  private let reply: Mailbox<[MetricFamily]>

  /// Answers; on the thread that owns the figures.
  public func answer(_ families: [MetricFamily]) { _ = reply.post(families) }

  /// Asks, and waits for some seconds.
  ///
  /// - Parameter post: Passes the question on; false if it was not taken.
  /// - Returns: nil if there was no answer in time.
  public static func ask(_ post: (MetricsQuestion) -> Bool) -> [MetricFamily]? {
    guard let reply = try? Mailbox<[MetricFamily]>(capacity: 1),
      post(MetricsQuestion(reply: reply))
    else { return nil }
    var poller = Poller()
    _ = poller.add(descriptor: reply.descriptor)
    _ = try? poller.wait(until: MonotonicClock.now() + patience)
    var answers: [[MetricFamily]] = []
    reply.takeAll(into: &answers)
    return answers.first
  }

  /// Less than a scraper waits (ten seconds by default).
  private static let patience: Int64 = 5_000_000_000
}
