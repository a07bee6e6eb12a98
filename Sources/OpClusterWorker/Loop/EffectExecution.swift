// Carries out the decisions of the brain. Loop thread. Each effect is carried out before the next
// is asked for, so that the order in which the brain decided is the order in which things happen.
// `AttemptRunner` in OpClusterAttempts starts and ends attempts; this leads to it.

import Logging
import OpClusterAttempts
import OpClusterExecution
import OpClusterModel

extension WorkerLoop {
  /// The switch has no default: a new effect of the brain has to be thought of here.
  func carryOut(_ effect: ExecutionEffect) {
    switch effect {
    case .renewConversation:
      if core.identity.session != decisions.session { beginAnew() }
      renewSocket()
    case .learn(let number, let announcement): learn(number, announcement)
    case .forget(let number): decisions.templates[Int(number.position)] = nil
    case .forgetGraph(let graph): scratch.forget(graph)
    case .launch(let launch):
      oversight.figures.noteLaunch()
      start(launch)
    case .stop(let attempt): attempts.stop(attempt)
    case .kill(let attempt): attempts.kill(attempt)
    case .fetch(let content, let sources):
      guard let store else {
        return apply(.contentMissed(content, "it has no store", .failed))
      }
      store.fetch(content, from: sources)
    case .dropFetch(let digest): store?.drop(digest)
    case .deliver(let deliveries): store?.deliver(deliveries)
    case .grant(let grants): store?.grant(grants, at: now)
    case .revoke(let key): store?.revoke(key)
    case .keep(let digests): store?.keep(digests)
    case .letGo(let digests): store?.letGo(digests)
    }
  }

  /// The coordinator's journal went back, and the brain has begun a new session.
  private func beginAnew() {
    decisions.session = core.identity.session
    attempts.beginAnew(session: decisions.session.number)
    scratch.beginAnew()
    logger.warning(
      """
      the coordinator's journal does not know what this worker was told: it was restored, or is \
      another cluster's; everything that ran has been killed, and the worker begins anew
      """)
  }

  /// Prepares a template once for all of its attempts. The brain reuses positions, so that the list
  /// stays as long as the most templates at once.
  private func learn(_ number: TemplateNumber, _ announcement: TemplateAnnouncement) {
    let template = PreparedTemplate(announcement)
    while decisions.templates.count <= Int(number.position) { decisions.templates.append(nil) }
    decisions.templates[Int(number.position)] = template
    if template.timeout != nil || template.grace != nil {
      apply(.prepared(number, TemplateLimits(timeout: template.timeout, grace: template.grace)))
    }
  }

  /// An attempt that cannot even begin ends at once, with a result like any other.
  private func start(_ launch: Launch) {
    guard let template = decisions.templates[Int(launch.template.position)] else {
      preconditionFailure("launched \(launch.attempt) of a template that was forgotten")
    }
    if let problem = objection(to: template) {
      return apply(.ended(launch.attempt, problem.result))
    }
    scratch.dropOldLogs(launch.attempt)
    let job = Job(
      attempt: launch.attempt, run: launch.run, ownQueueName: launch.queueName,
      template: template, inputs: launch.inputs,
      gpus: decisions.gpuNames.map { names in launch.gpus.map { names[Int($0)] } })
    if let result = attempts.start(job, argument: launch.argument, at: now) {
      apply(.ended(launch.attempt, result))
    }
  }
}
