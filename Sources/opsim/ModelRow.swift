// One run of the model, as a row for people and as JSON for programs.

import FoundationEssentials
import OpClusterModel
import OpClusterSimulation

struct ModelRow: Encodable {
  var workers: Int
  var slots: Int
  var racks: Int?
  var operations: Int
  var meanRunSeconds: Double
  var utilisation: Double
  var operationsPerSecond: Double
  var messagesPerSecond: Double
  var load: Double
  var measuredLoad: Double
  var microsecondsPerOperation: Double
  var measuredMicrosecondsPerOperation: Double
  var framesPerTurn: Double
  var turnMilliseconds: [Double]
  var waitMilliseconds: [Double]
  var virtualSeconds: Double
  var wallSeconds: Double
  var collapse: String?

  init(_ plan: LargeClusterPlan, _ figures: LargeClusterFigures, wallSeconds: Double) {
    workers = plan.workers
    slots = plan.slots
    racks = plan.relays
    operations = plan.operations
    meanRunSeconds = plan.runTimes.mean
    utilisation = figures.utilisation
    operationsPerSecond = figures.operationsPerSecond
    messagesPerSecond = figures.messagesPerSecond
    load = figures.load
    measuredLoad = figures.measuredLoad
    microsecondsPerOperation = figures.microsecondsPerOperation
    measuredMicrosecondsPerOperation = figures.measuredMicrosecondsPerOperation
    framesPerTurn = figures.framesPerTurn
    turnMilliseconds = [0.5, 0.99].map { figures.turnLength($0).seconds * 1e3 }
    waitMilliseconds = [0.5, 0.9, 0.99].map { figures.wait($0).seconds * 1e3 }
    virtualSeconds = figures.seconds
    self.wallSeconds = wallSeconds
    collapse = figures.collapse
  }

  private static let columns = [
    ("workers", 8), ("racks", 6), ("slots", 8), ("mean s", 8), ("used %", 7), ("op/s", 9),
    ("load %", 7), ("brain %", 8), ("us/op", 7), ("brain us", 9), ("frames", 7), ("turn ms", 8),
    ("p99", 7), ("wait ms", 8), ("p90", 8), ("p99", 9), ("wall s", 7),
  ]

  static var head: String { columns.map { padded($0.0, $0.1) }.joined(separator: " ") }

  var line: String {
    if let collapse {
      return "\(workers) workers, \(Self.short(meanRunSeconds)) s: ended early, \(collapse)"
    }
    let texts = [
      "\(workers)", racks.map { "\($0)" } ?? "-", "\(slots)", Self.short(meanRunSeconds),
      Self.short(utilisation * 100), "\(Int(operationsPerSecond))", Self.short(load * 100),
      Self.short(measuredLoad * 100), Self.short(microsecondsPerOperation),
      Self.short(measuredMicrosecondsPerOperation), Self.short(framesPerTurn),
      Self.short(turnMilliseconds[0]), Self.short(turnMilliseconds[1]),
      Self.short(waitMilliseconds[0]), Self.short(waitMilliseconds[1]),
      Self.short(waitMilliseconds[2]), Self.short(wallSeconds),
    ]
    return zip(texts, Self.columns).map { Self.padded($0, $1.1) }.joined(separator: " ")
  }

  var json: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
  }

  private static func padded(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.count)) + text
  }

  /// Two digits behind the point for what is small, none for what is large.
  private static func short(_ value: Double) -> String {
    let digits = value < 10 ? 100.0 : value < 1_000 ? 10 : 1
    let rounded = (value * digits).rounded() / digits
    return digits == 1 ? "\(Int(rounded))" : "\(rounded)"
  }
}
