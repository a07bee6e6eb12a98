// The jobs of a node: one, an array, or, where an array cannot say it, several.

import OpClusterModel

struct NodeElements {
  let node: DagNode
  let file: SubmitFile
  let session: ImportSession
  let remarks: Bool
  var name = ""

  func jobs() throws(ImportStop) -> [(job: SubmitJob, elements: ImportedOperation.Elements?)] {
    let elements = file.elements
    if elements.count == 1 {
      return [(try job(elements[0], process: "0", step: "0"), nil)]
    }
    if elements.isEmpty { return [] }
    let isPlain = elements.allSatisfy { $0.variables.isEmpty && $0.values == nil }
    if isPlain {
      let index = RuntimeValue.index.code
      return [(try job(elements[0], process: index, step: index), .range(0, elements.count - 1))]
    }
    if let variable = file.onlyVariable {
      var element = elements[0]
      element.variables = [variable: RuntimeValue.item.code]
      let position = RuntimeValue.position.code
      let items = elements.map { $0.variables[variable] ?? "" }
      // HTCondor expands an item before it looks for words and quotes; an item here is one word.
      if items.allSatisfy(Self.isOneWord) {
        return [(try job(element, process: position, step: "0"), .items(items))]
      }
    }
    var jobs: [(job: SubmitJob, elements: ImportedOperation.Elements?)] = []
    for (at, element) in elements.enumerated() {
      jobs.append((try job(element, process: "\(at)", step: "0", remarks: at == 0), nil))
    }
    return jobs
  }

  private static func isOneWord(_ item: String) -> Bool {
    !item.isEmpty && !item.contains { " \t\"'\\$;".contains($0) }
  }

  private func job(
    _ element: SubmitFile.Element, process: String, step: String, remarks further: Bool = true
  ) throws(ImportStop) -> SubmitJob {
    var scope = SubmitScope(values: element.values ?? file.values, session: session)
    scope.place = SourcePlace(file.values.values.first?.place.file ?? node.file, 0)
    scope.given = [
      "process": process, "procid": process, "step": step, "row": process, "itemindex": process,
      "cluster": RuntimeValue.graph.code, "clusterid": RuntimeValue.graph.code,
      "job": node.name, "jobname": node.name, "node": process, "retry": RuntimeValue.retry.code,
      "max_retries": "\(node.retries)", "submit_file": node.file, "dollar": "$",
    ]
    for (name, value) in node.macros {
      // DAGMan puts these two in before HTCondor reads the value.
      let value = value.replacing("$(JOB)", with: node.name).replacing(
        "$(RETRY)", with: RuntimeValue.retry.code)
      scope.given[name.lowercased()] = value
      // Macros of a node come before commands of the file, too.
      if scope.values[name.lowercased()] != nil {
        scope.values[name.lowercased()]?.text = value
      }
    }
    for (name, value) in element.variables { scope.given[name] = value }
    return try SubmitMeaning(
      file: file, scope: scope, session: session, folder: node.folder,
      remarks: remarks && further
    ).job()
  }
}
