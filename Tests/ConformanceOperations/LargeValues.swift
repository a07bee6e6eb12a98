// Operations that leave more than a message holds, and operations that read it, in the worker's own
// process and in one of theirs.

public import OpClusterOperations

/// A text that everybody can make again.
public struct LongText: Codable, Hashable, Sendable {
  public var title: String
  public var text: String

  public init(length: Int) {
    title = "long"
    let line = "the quick brown fox jumps over the lazy dog; "
    text = String(
      String(repeating: line, count: length / line.utf8.count + 1).prefix(length))
  }
}

/// Leaves a text.
public struct LeaveText: RegisteredOperation {
  public static let typeName = "conformance.leave-text"
  public var length: Int
  public init(length: Int) { self.length = length }
  public func main(_ context: OperationContext) async throws -> LongText {
    LongText(length: length)
  }
}

/// The length of the text that a dependency left.
public struct MeasureText: RegisteredOperation {
  public static let typeName = "conformance.measure-text"
  @RequiredInput public var text: LongText
  public init() {}
  public func main(_ context: OperationContext) async throws -> Int {
    guard text == LongText(length: text.text.utf8.count) else { throw Different() }
    return text.text.utf8.count
  }
  struct Different: Error {}
}

/// The same in processes of their own.
public struct LeaveTextApart: RegisteredOperation {
  public static let typeName = "conformance.leave-text-apart"
  public static let isolation = OperationIsolation.child
  public var length: Int
  public init(length: Int) { self.length = length }
  public func main(_ context: OperationContext) async throws -> LongText {
    LongText(length: length)
  }
}

public struct MeasureTextApart: RegisteredOperation {
  public static let typeName = "conformance.measure-text-apart"
  public static let isolation = OperationIsolation.child
  @RequiredInput public var text: LongText
  public init() {}
  public func main(_ context: OperationContext) async throws -> Int {
    try await MeasureText(text: text).main(context)
  }
}

extension MeasureText {
  fileprivate init(text: LongText) { _text = RequiredInput(text) }
}
