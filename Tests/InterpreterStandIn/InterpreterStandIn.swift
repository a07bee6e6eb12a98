// A stand-in for an interpreter of Python: speaks its side of the protocol with a worker, and
// answers each call with what it was told. `die` as the argument ends it; `wait` waits to be
// cancelled.
//
//   InterpreterStandIn -m opcluster.interpreter SCRATCH TASKS [STREAMS]   (the worker starts it)

import Glibc
import OpClusterDaemon
import OpClusterModel
import OpClusterOperations
import OpClusterProcesses
import OpClusterSystem
import OpClusterWire

@main
struct InterpreterStandIn {
  private struct TemplateName: Hashable {
    var graph: GraphID
    var template: UInt32
  }

  private let channel: ParentChannel
  private var templates: [TemplateName: TemplateAnnouncement] = [:]
  /// How many templates it was sent.
  private var told = 0
  private var reports: UInt64 = 0

  static func main() {
    guard let channel = ParentChannel.take(), 5...6 ~= CommandLine.arguments.count else {
      StandardStream.error.write("a worker starts this program")
      exit(1)
    }
    var standIn = InterpreterStandIn(channel: channel)
    while let frame = channel.receive() {
      if case .orders(let orders) = try? Wire.decodeCoordinatorMessage(frame) {
        standIn.take(orders)
      }
    }
  }

  private init(channel: ParentChannel) { self.channel = channel }

  private mutating func take(_ orders: WorkerOrders) {
    for template in orders.templates {
      told += 1
      templates[TemplateName(graph: template.graph, template: template.template)] = template
    }
    for dispatch in orders.dispatches { run(dispatch) }
    for cancel in orders.cancels {
      var result = AttemptResult.success
      result.wasStopped = true
      report(cancel.attempt, result)
    }
  }

  private mutating func run(_ dispatch: Dispatch) {
    let name = TemplateName(
      graph: dispatch.attempt.operation.graph, template: dispatch.template)
    let argument = String(decoding: dispatch.argument, as: UTF8.self)
    if argument == "die" { exit(3) }
    if argument == "wait" { return }
    let words = [
      "\(getpid())", "\(told)",
      templates[name].map { String(decoding: $0.payload, as: UTF8.self) } ?? "(unknown)",
      argument, Self.workingDirectory, OwnProcess.variable("VIRTUAL_ENV") ?? "-",
      OwnProcess.variable("SECRET") ?? "-",
    ]
    var result = AttemptResult.success
    result.output = (try? OutputValue.encode(words)) ?? []
    report(dispatch.attempt, result)
  }

  private mutating func report(_ attempt: AttemptID, _ result: AttemptResult) {
    reports += 1
    var report = WorkerReport(
      conversation: Conversation(epoch: Epoch(1), session: WorkerSession(1), increment: 1),
      number: reports)
    report.entries = [.finished(attempt, result)]
    channel.send(Wire.encode(.report(report)))
  }

  private static var workingDirectory: String {
    guard let path = unsafe getcwd(nil, 0) else { return "-" }
    defer { unsafe free(path) }
    return unsafe String(cString: path)
  }
}
