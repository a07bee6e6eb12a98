// `-o FILE` of commands that make a document.

import OpClusterPresentation
import OpClusterSystem

extension Console {
  /// Writes a document to a file, whose former content stays if that fails, and says how large it
  /// is; nil or `-`: to stdout.
  func deliver(_ bytes: [UInt8], to file: String?) throws {
    guard let file, file != "-" else { return try write(bytes: bytes) }
    if case .failed(let code) = Descriptor.replace(file, with: bytes) {
      throw Failure(
        .inputOutput, code: "output_failed",
        "cannot write \(safe(file)): \(ErrorNumber(code).text)",
        hint: "look at its folder and at the room on its disk")
    }
    say("\(safe(file)): \(shownSize(bytes.count))")
  }
}
