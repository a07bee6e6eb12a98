// Everything that a peer can say, one of each kind, with the roles that may say it (G36). A new
// kind of request does not compile until it is in the list, and fails until the table knows it.

import OpClusterModel

@testable import OpClusterCoordinator

struct EverySaying {
  static let content = StoredContent(
    digest: ContentDigest(bytes: [UInt8](repeating: 9, count: 32))!, size: 9)
  /// The kinds, by name; the table of who may say them is `allowedTo`.
  enum Kind: String, CaseIterable {
    case workerHello, workerWord, clientHello
    case submit, enqueue, cancel, cancelQueue, suspendGraphs, createQueue, changeQueue, removeQueue
    case addDependency, removeDependency, setPriority, hold, setQueue, addBlocks, beginWait, endWait
    case drainWorker, resumeWorker, forgetWorker, removeGraphs, place
    case bring, reusable
    case graphs, operations, structure, explain, submission, queues, workers, configuration, ping
    case enrol, log, locate
    case subscribe, grantCredit, unsubscribe

    /// Whoever the modes of files let in may do everything but join.
    var isForLocals: Bool { self != .enrol }
  }

  let kind: Kind
  let saying: Saying

  /// Written down once more, beside what the program says.
  var allowedTo: Set<Role> {
    switch kind {
    case .workerHello, .workerWord: [.worker, .admin]
    case .clientHello, .graphs, .operations, .structure, .explain, .submission, .queues, .workers,
      .configuration, .ping, .log, .locate, .subscribe, .grantCredit, .unsubscribe:
      [.observer, .submitter, .admin]
    case .submit, .enqueue, .cancel, .cancelQueue, .suspendGraphs, .createQueue, .changeQueue,
      .removeQueue, .addDependency, .removeDependency, .setPriority, .hold, .setQueue, .addBlocks,
      .beginWait, .endWait, .removeGraphs, .place, .bring, .reusable:
      [.submitter, .admin]
    case .drainWorker, .resumeWorker, .forgetWorker: [.admin]
    case .enrol: []
    }
  }

  /// One of each kind.
  static let all: [EverySaying] = Kind.allCases.map { kind in
    let saying = saying(of: kind)
    if case .request(let request) = saying {
      precondition(Self.kind(of: request) == kind, "\(kind) is another kind")
    }
    return EverySaying(kind: kind, saying: saying)
  }

  /// A request that is not in the list does not compile.
  private static func kind(of request: ClientRequest) -> Kind {
    switch request {
    case .submit: .submit
    case .enqueue: .enqueue
    case .cancel: .cancel
    case .cancelQueue: .cancelQueue
    case .suspendGraphs: .suspendGraphs
    case .createQueue: .createQueue
    case .changeQueue: .changeQueue
    case .removeQueue: .removeQueue
    case .addDependency: .addDependency
    case .removeDependency: .removeDependency
    case .setPriority: .setPriority
    case .hold: .hold
    case .setQueue: .setQueue
    case .addBlocks: .addBlocks
    case .beginWait: .beginWait
    case .endWait: .endWait
    case .drainWorker: .drainWorker
    case .resumeWorker: .resumeWorker
    case .forgetWorker: .forgetWorker
    case .removeGraphs: .removeGraphs
    case .place: .place
    case .bring: .bring
    case .reusable: .reusable
    case .graphs: .graphs
    case .operations: .operations
    case .structure: .structure
    case .explain: .explain
    case .submission: .submission
    case .queues: .queues
    case .workers: .workers
    case .configuration: .configuration
    case .ping: .ping
    case .enrol: .enrol
    case .log: .log
    case .locate: .locate
    case .subscribe: .subscribe
    case .grantCredit: .grantCredit
    case .unsubscribe: .unsubscribe
    }
  }

  private static func saying(of kind: Kind) -> Saying {
    switch kind {
    case .workerHello: .workerHello(name: "w", owner: nil)
    case .workerWord: .workerWord
    case .clientHello: .clientHello(ClientHello())
    default: .request(request(of: kind))
    }
  }

  private static func request(of kind: Kind) -> ClientRequest {
    let operation = OperationID(graph: GraphID(1), index: 0)
    let all = Selection(graphs: .all)
    let target = OperationTarget.selection(all)
    return switch kind {
    case .submit: .submit(GraphSubmission(name: "g"))
    case .enqueue: .enqueue([operation], queue: "q")
    case .cancel: .cancel(target, reason: "", grace: nil)
    case .cancelQueue: .cancelQueue("q", reason: "")
    case .suspendGraphs: .suspendGraphs(all, true)
    case .createQueue: .createQueue(QueueSettings(name: "q"))
    case .changeQueue: .changeQueue("q", QueueChange())
    case .removeQueue: .removeQueue("q")
    case .addDependency: .addDependency(from: operation, to: operation, .succeeded)
    case .removeDependency: .removeDependency(from: operation, to: operation)
    case .setPriority: .setPriority(target, .high)
    case .hold: .hold(target, true)
    case .setQueue: .setQueue(target, queue: "q")
    case .addBlocks: .addBlocks(operation, [])
    case .beginWait: .beginWait(operation, .queue("q"))
    case .endWait: .endWait(operation)
    case .drainWorker: .drainWorker("w")
    case .resumeWorker: .resumeWorker("w")
    case .forgetWorker: .forgetWorker("w")
    case .removeGraphs: .removeGraphs([GraphID(1)])
    case .graphs: .graphs(all, after: nil, limit: 1)
    case .operations: .operations(all, after: nil, limit: 1)
    case .structure: .structure(all)
    case .explain: .explain(all)
    case .submission: .submission(GraphID(1))
    case .queues: .queues(named: "", after: nil, limit: 1)
    case .workers: .workers
    case .configuration: .configuration
    case .enrol: .enrol(name: "x", publicKey: [])
    case .log:
      .log(AttemptSelection(operation: operation), .standardOutput, offset: 0, maximumBytes: 1)
    case .locate: .locate([], reader: ContentAsker())
    case .place: .place([], avoided: [], writer: ContentAsker())
    case .bring: .bring(Self.content, unreached: [], reader: ContentAsker())
    case .reusable: .reusable(GraphSubmission(name: "g"))
    case .subscribe: .subscribe(EventSubscription(number: 1, selection: all))
    case .grantCredit: .grantCredit(subscription: 1, events: 1)
    case .unsubscribe: .unsubscribe(subscription: 1)
    default: .ping
    }
  }
}
