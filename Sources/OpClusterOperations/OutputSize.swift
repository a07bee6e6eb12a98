// Brings the result of an attempt into a size that fits messages: a value that is too large goes to
// a store. Any thread.

package import OpClusterModel
import OpClusterWire

extension AttemptResult {
  /// The same result whose value and files were kept by somebody else than who encoded it.
  ///
  /// - Parameters:
  ///   - keepValue: Keeps a value that was too large for a message.
  ///   - keepFile: Keeps a file, by its position.
  /// - Returns: With what was kept, also if it came to nothing.
  package func namingKept(
    value keepValue: () throws -> StoredContent, file keepFile: (Int) throws -> StoredContent
  ) -> (result: AttemptResult, kept: [StoredContent]) {
    var result = self
    var kept: [StoredContent] = []
    do {
      var opened = try Wire.decodeOutput(output)
      for at in opened.files.indices {
        let content = try keepFile(at)
        kept.append(content)
        opened.files[at].content = content
      }
      let isElsewhere = opened.valueContent != nil
      opened.contents = []
      opened.valueContent = nil
      if isElsewhere {
        let content = try keepValue()
        kept.append(content)
        opened.contents = [content]
        opened.valueContent = 0
      }
      result.output = Wire.encode(output: opened)
    } catch {
      result.output = []
      result.cause = error is StoreIsFull ? .storeFull : .badOutput
      result.diagnostic = CodingText.clip("its output was not kept: \(error)")
    }
    return (result, kept)
  }

  /// The same result with the value of its output in a store, if it is too large for a message.
  ///
  /// - Parameter keep: Keeps the bytes of a value; nil: there is no store, and a large output fails
  ///   the attempt.
  package func fittingMessages(
    keep: (([UInt8]) throws -> StoredContent)?
  ) -> (result: AttemptResult, kept: [StoredContent]) {
    guard isSuccess, output.count > Limits.outputBytes else { return (self, []) }
    var result = self
    result.output = []
    guard let keep else {
      result.cause = .badOutput
      result.diagnostic =
        "its output has \(output.count) bytes, more than \(Limits.outputBytes), and here is no "
        + "store for larger ones; leave a reference to larger data"
      return (result, [])
    }
    do {
      var opened = try Wire.decodeOutput(output, limit: .max)
      let content = try keep(opened.value)
      opened.value = []
      opened.contents.append(content)
      opened.valueContent = opened.contents.count - 1
      result.output = Wire.encode(output: opened)
      return (result, [content])
    } catch {
      result.cause = error is StoreIsFull ? .storeFull : .badOutput
      result.diagnostic = CodingText.clip("its output was not kept: \(error)")
      return (result, [])
    }
  }
}
