// A submission with all that costs what it is large: its hash, its checks, its plan, its encoded
// form. None of them needs the state of the cluster, so that another thread can prepare a large one
// while the loop goes on.

public import OpClusterModel

public struct PreparedSubmission: Sendable {
  public let submission: GraphSubmission
  /// nil: it is encoded when it is needed.
  public let encoded: EncodedSubmission?
  public let operationCount: Int
  /// Of the submission as it was sent: a repeat must match even if the graph whose secrets it
  /// borrows is forgotten by then.
  let contentHash: UInt64
  /// The hash that earlier releases gave it, if it has a key and was prepared on another thread.
  private var preparedEarlierHash: UInt64?
  /// The first reason against it that follows from it alone; nil: there is a plan.
  let refusal: Refusal?
  /// nil once it was taken.
  private var plan: GraphPlan?
  private(set) var outline = GraphPlan.Outline()

  /// - Parameters:
  ///   - isHashed: Whether anybody will read the hash: that of a submission that nobody can repeat,
  ///     and that no journal keeps, is 0.
  ///   - pageBits: Those of the scheduler that will get it, else the plan is made again there.
  init(
    _ submission: GraphSubmission, encoded: EncodedSubmission? = nil, isHashed: Bool = true,
    pageBits: UInt32
  ) {
    self.submission = submission
    self.encoded = encoded
    operationCount = submission.operationCount
    contentHash = isHashed ? submission.contentHash : 0
    do throws(Refusal) {
      let edges = try SubmissionChecks(submission).run()
      plan = GraphPlan(
        submission, edges, pageBits: pageBits,
        demandsAtOnce: LaterStages.demandsAtOnce(Limits.endStepsPerTurn))
      if let planned = plan?.outline { outline = planned }
      refusal = nil
    } catch {
      refusal = error
    }
  }

  /// Prepares a submission, on any thread, for a scheduler with pages of the usual size.
  public init(_ submission: GraphSubmission, encoded: EncodedSubmission) {
    self.init(submission, encoded: encoded, pageBits: CellTable.usualPageBits)
    if !submission.key.text.isEmpty { preparedEarlierHash = submission.earlierContentHash }
  }

  var earlierContentHash: UInt64 { preparedEarlierHash ?? submission.earlierContentHash }

  /// Moves the plan out, so that it changes in place where it goes: a copy would cost the graph.
  mutating func takePlan() -> GraphPlan? { plan.take() }
}
