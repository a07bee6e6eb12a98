// `opbatch files`: the files that operations have left in the stores of workers. `Fetch` brings
// them here.

import ArgumentParser
import OpClusterClient
import OpClusterModel
import OpClusterPresentation
import OpClusterReading

extension Reader {
  /// The files of the selected operations, a page of operations after the other. `use` gets those
  /// of one page; it may be none. Returns the number of operations.
  func leftFiles(
    _ selection: Selection, _ use: ([LeftFile]) async throws -> Void
  ) async throws -> Int {
    var count = 0
    try await operations(selection) { rows, _ in
      count += rows.count
      try await use(
        rows.flatMap { row in
          (row.result?.storedFiles ?? []).map { file in
            LeftFile(operation: OperationPath(row), file: file)
          }
        })
      return true
    }
    return count
  }
}

/// Needs the right to read (G36).
struct ListFiles: Command {
  static let configuration = CommandConfiguration(
    commandName: "files", abstract: "List the files that operations have left.",
    discussion: """
      What a manifest declares as 'outputs: {files: ...}' stays in the store of the worker that \
      made it, and of those that read it. 'opbatch fetch' brings it here.

      Examples:
        opbatch files last
        opbatch files 12/align/3 -o json
      """)

  @Argument(help: ArgumentHelp("12, last, 12/align, 12/align/3.", valueName: "selector"))
  var selector: String

  @OptionGroup var filters: SelectionFilters
  @OptionGroup(title: "Common options") var global: GlobalOptions

  func perform(_ console: Console) async throws -> ExitStatus {
    let selection = try filters.selection(selector)
    return try await withConnection { connection in
      let reader = reader(connection)
      try await reader.naming(selector, selection) {
        try await list(selection, reader, connection, console)
      }
      return .success
    }
  }

  /// Who has them is asked for a page of files at a time.
  private func list(
    _ selection: Selection, _ reader: Reader, _ connection: ClusterConnection, _ console: Console
  ) async throws {
    var listing: JSONListing?
    if console.wantsJSON { listing = JSONListing("files", format: console.listFormat) }
    var (isFirst, found) = (true, 0)
    let operations = try await reader.leftFiles(selection) { files in
      found += files.count
      var rest = files[...]
      while !rest.isEmpty {
        let page = Array(rest.prefix(Limits.rowsPerReply))
        rest = rest.dropFirst(page.count)
        let holders = try await connection.holders(of: page.map(\.file.content.digest))
        switch console.format {
        case .table:
          let style = console.outputStyle
          try console.writeLines(fileTable(page, holders).lines(style, titled: isFirst))
          isFirst = false
        case .name: try console.writeLines(page.map { "\($0.operation) \($0.shownName)" })
        case .json, .jsonl:
          for file in page {
            listing?.row { json in
              json.field("id", file.operation.description)
              json.fields(of: file.file)
              json.array("workers") { json in
                for worker in holders[file.file.content.digest] ?? [] { json.value(worker) }
              }
            }
          }
          if let json = listing?.take() { try console.write(bytes: json) }
        }
      }
    }
    if operations == 0 { throw await reader.nothing(selector, selection) }
    listing?.end()
    if let json = listing?.take() { try console.write(bytes: json) }
    if found == 0, console.format == .table {
      console.say(
        "no files: operations leave those that the manifest declares as outputs: {files: ...}")
    }
  }
}
