// Does what the brain has decided. Loop thread.

import Logging
import OpClusterExecution
import OpClusterModel
import OpClusterZeroMQ

extension WorkerLoop {
  func carryOut(_ effect: ExecutionEffect) {
    switch effect {
    case .renewConversation: renewSocket()
    case .learn(let number, let announcement): learn(number, announcement)
    case .forget(let number): templates[Int(number.position)] = nil
    case .forgetGraph(let graph): scratch.forget(graph)
    case .launch(let launch): start(launch)
    case .stop(let attempt):
      commands.stop(attempt)
      tasks.stop(attempt)
    case .kill(let attempt):
      commands.kill(attempt)
      tasks.stop(attempt)
    }
  }

  private func learn(_ number: TemplateNumber, _ announcement: TemplateAnnouncement) {
    let work = PreparedWork(announcement, registry: registry)
    while templates.count <= Int(number.position) { templates.append(nil) }
    var kept = announcement
    // Decoded; large ones are not kept twice.
    kept.payload = []
    templates[Int(number.position)] = PreparedTemplate(announcement: kept, work: work)
    if work.timeout != nil || work.grace != nil {
      apply(.prepared(number, TemplateLimits(timeout: work.timeout, grace: work.grace)))
    }
  }

  private func start(_ launch: Launch) {
    guard let template = templates[Int(launch.template.position)] else {
      preconditionFailure("launched \(launch.attempt) of a template that was forgotten")
    }
    switch template.work {
    case .nothing: apply(.ended(launch.attempt, .success))
    case .unusable(let problem): apply(.ended(launch.attempt, problem.result))
    case .call(.inline(let run), let argument):
      let own = launch.argument.isEmpty ? argument : launch.argument
      apply(.ended(launch.attempt, Self.runInline(run, own, launch.inputs)))
    case .call(.task(let make), let argument): startTask(launch, template, argument, make)
    case .command(let command): startCommand(launch, template, command)
    }
  }

  private static func runInline(
    _ run: ([UInt8], [DependencyInput]) throws -> [UInt8], _ argument: [UInt8],
    _ inputs: [DependencyInput]
  ) -> AttemptResult {
    do {
      return TaskRunner.result(of: try run(argument, inputs))
    } catch {
      return AttemptProblem(
        cause: error is BadArgument ? .badArgument : .failed, message: "\(error)"
      ).result
    }
  }

  private func startTask(
    _ launch: Launch, _ template: PreparedTemplate, _ argument: [UInt8],
    _ make: @escaping @Sendable ([UInt8]) throws -> OperationRegistry.Work
  ) {
    let announcement = template.announcement
    let progress = tasks.progress
    let context = OperationContext(
      attempt: launch.attempt, name: announcement.name, graphName: announcement.graphName,
      index: announcement.isArray ? template.shownIndex(of: launch.attempt.operation) : nil,
      inputs: launch.inputs, scratchPath: scratch.taskFolder(launch.attempt)
    ) { attempt, fraction, text in
      _ = progress.post(.progress(attempt, fraction: fraction, text: text))
    }
    tasks.start(
      context, qos: announcement.qos,
      argument: launch.argument.isEmpty ? argument : launch.argument, make)
  }

  private func startCommand(
    _ launch: Launch, _ template: PreparedTemplate, _ command: CommandSpecification
  ) {
    do throws(AttemptProblem) {
      try commands.start(
        launch.attempt, template, command, argument: launch.argument, inputs: launch.inputs)
    } catch {
      var result = error.result
      result.startedAt = WallTime(milliseconds: WallClock.now())
      result.endedAt = result.startedAt
      apply(.ended(launch.attempt, result))
    }
  }
}
