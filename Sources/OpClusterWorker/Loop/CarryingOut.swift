// Does what the brain has decided. Loop thread.

import OpClusterExecution
import OpClusterModel

extension WorkerLoop {
  func carryOut(_ effect: ExecutionEffect) {
    switch effect {
    case .renewConversation: renewSocket()
    case .learn(let number, let announcement): learn(number, announcement)
    case .forget(let number): templates[Int(number.position)] = nil
    case .forgetGraph(let graph): scratch.forget(graph)
    case .launch(let launch): start(launch)
    case .stop(let attempt): attempts.stop(attempt)
    case .kill(let attempt): attempts.kill(attempt)
    }
  }

  private func learn(_ number: TemplateNumber, _ announcement: TemplateAnnouncement) {
    let template = PreparedTemplate(announcement)
    while templates.count <= Int(number.position) { templates.append(nil) }
    templates[Int(number.position)] = template
    if template.timeout != nil || template.grace != nil {
      apply(.prepared(number, TemplateLimits(timeout: template.timeout, grace: template.grace)))
    }
  }

  private func start(_ launch: Launch) {
    guard let template = templates[Int(launch.template.position)] else {
      preconditionFailure("launched \(launch.attempt) of a template that was forgotten")
    }
    if let problem = objection(to: template) {
      return apply(.ended(launch.attempt, problem.result))
    }
    let job = Job(
      attempt: launch.attempt, run: launch.run, ownQueueName: launch.queueName,
      template: template, inputs: launch.inputs)
    if let result = attempts.start(job, argument: launch.argument, at: now) {
      apply(.ended(launch.attempt, result))
    }
  }
}
