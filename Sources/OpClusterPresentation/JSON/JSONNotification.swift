// What a command or a webhook is told of a graph.

public import OpClusterModel

extension JSONText {
  /// - Parameters:
  ///   - event: `end` or `failure`.
  ///   - failures: The first failures of the graph.
  public static func notification(
    _ event: String, _ row: GraphRow, failures: [OperationRow]
  ) -> String {
    jsonDocument { json in
      json.field("event", event)
      json.object("graph") { $0.fields(of: row) }
      json.array("failures") { json in
        for failure in failures { json.object { $0.fields(of: failure) } }
      }
    }
  }
}
