// Several workers of one machine offer what it has, and nothing of it twice.

import OpClusterModel
import Testing

@testable import OpClusterClient

@Suite struct SharedOfferTests {
  private static func flags(
    _ offer: SharedOffer, among workers: Int, gpus: [String] = []
  ) -> [String] {
    (0..<workers).map {
      offer.flags(of: $0, among: workers, processors: 8, foundGPUs: gpus).joined(separator: " ")
    }
  }

  @Test func oneWorkerIsLeftWhatItIsToldElsewhere() {
    #expect(Self.flags(SharedOffer(), among: 1, gpus: ["0"]) == ["--cpus 8"])
    #expect(Self.flags(SharedOffer(cpusPerWorker: 2), among: 1) == ["--cpus 2"])
  }

  // Memory as well as processors and gpus.
  @Test func severalShareTheMachine() {
    #expect(
      Self.flags(SharedOffer(), among: 3, gpus: ["4", "6"]) == [
        "--cpus 2 --memory 30.0% --gpus 0", "--cpus 2 --memory 30.0% --gpus 4,",
        "--cpus 2 --memory 30.0% --gpus 6,",
      ])
    #expect(Self.flags(SharedOffer(), among: 2)[1] == "--cpus 4 --memory 45.0% --gpus unmanaged")
    for workers in 2...64 {
      let each = Self.flags(SharedOffer(), among: workers).map { flags -> Double in
        let words = flags.split(separator: " ")
        return Double(words[3].dropLast()) ?? .nan
      }
      #expect(abs(each.reduce(0, +) - 90) < 1e-6, "\(workers)")
    }
  }

  @Test func whatSomebodyGivesThem() {
    let offer = SharedOffer(
      gpus: .list(["0", "2", "3"]),
      resources: [
        .init(name: "licence", amount: ResourceAmount(1)),
        .init(name: "disk", amount: ResourceAmount(tenThousandths: 50_500)),
      ])
    #expect(
      Self.flags(offer, among: 2) == [
        "--cpus 4 --memory 45.0% --gpus 0, --resource licence=1 --resource disk=3.0500",
        "--cpus 4 --memory 45.0% --gpus 2,3, --resource disk=2",
      ])
    #expect(
      Self.flags(SharedOffer(gpus: .count(2)), among: 1, gpus: ["5", "6", "7"])
        == ["--cpus 8 --gpus 5,6,"])
  }
}
