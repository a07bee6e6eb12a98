// Advice in the words of a shell: all of it.

import MessageGenerators
import OpClusterModel
import OpClusterPresentation
import Testing

@Suite struct AdviceTextTests {
  /// What a person at a shell reads about the thing `q` and the number 7.
  private func words(_ kind: AdviceKind) -> String {
    switch kind {
    case .text: "q"
    case .listGraphs: "see them with: opbatch ls -a"
    case .cancelGraph: "cancel it with: opbatch cancel 7"
    case .resumeGraph: "resume it with: opbatch resume 7"
    case .release: "release it with: opbatch release q"
    case .releaseEarly: "release it now with: opbatch release q"
    case .createQueue: "create it with: opbatch queue create q"
    case .resumeQueue: "resume it with: opbatch queue resume q"
    case .cancelQueue: "wait for them, or cancel them with: opbatch queue cancel q"
    case .removeQueues: "remove some with: opbatch queue rm NAME"
    case .raiseLimit:
      "raise the limit with: opbatch queue set q --max-concurrent 7, or put what is waited for "
        + "into another queue"
    case .listWorkers: "see them with: opbatch worker ls"
    case .findWorker: "see whether it is connected with: opbatch worker ls"
    case .drainWorker: "let it finish and leave with: opbatch worker drain q"
    case .startCluster:
      "start one with 'opbatch up' or 'opcoord serve', or name another with --coordinator or "
        + "OPBATCH_COORDINATOR"
    case .changeUser:
      "run this as that user if it is their cluster that you mean, or name another with "
        + "--coordinator; between users a coordinator serves over tcp:// with keys"
    case .join:
      "'opbatch key join FILE', or 'opworker serve --coordinator ADDRESS --join-file FILE', make a "
        + "key of your own"
    case .addKey:
      "'opbatch key show' prints the key; an administrator adds it with 'opcoord key add', or "
        + "invites with 'opcoord key invite'"
    case .compareKeys:
      "check the address; compare 'opbatch key show' here with 'opcoord key show' there"
    case .compareReleases:
      "check the address and compare 'opbatch version' with 'opcoord --version'"
    }
  }

  @Test(arguments: AdviceKind.allCases) func forShell(_ kind: AdviceKind) {
    let advice = kind.advice("q", 7)
    #expect(AdviceKind(advice) == kind)
    #expect(advice.forShell == words(kind))
    #expect(Explanation.Line("it waits", hint: advice).forShell == "it waits; \(words(kind))")
    #expect(Refusal(.cycle, "no", hint: advice).forShell == "no; \(words(kind))")
  }

  @Test func nothingIsAdvised() {
    #expect(Explanation.Line("it waits").forShell == "it waits")
    #expect(Refusal(.cycle, "no").forShell == "no")
  }
}
