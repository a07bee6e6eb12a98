// Every block of Swift that the README and the catalogues show is a piece of a file that is
// compiled here, and nearly all of them are run. Links and names of symbols lead somewhere.

import Testing

@Suite struct Catalogue {
  @Test func everyBlockIsASnippet() throws {
    let snippets = try Package.snippets()
    let documents = try Package.documents()
    #expect(documents.count > 5)
    var shown: Set<String> = []
    for block in documents.flatMap(\.blocks) {
      #expect(!block.names.isEmpty, "\(block.place): no snippet is named above the block")
      let texts = block.names.map { snippets[$0] ?? "there is no snippet '\($0)'" }
      #expect(block.text == texts.joined(separator: "\n\n"), "\(block.place)")
      shown.formUnion(block.names)
    }
    #expect(Set(snippets.keys).subtracting(shown).isEmpty, "snippets that nothing shows")
  }

  @Test func linksBetweenArticlesLead() throws {
    let documents = try Package.documents()
    let articles = Set(
      documents.map { String($0.path.split(separator: "/").last?.dropLast(".md".count) ?? "") })
    for document in documents {
      for link in document.spans("<doc:", ">") {
        #expect(articles.contains(link), "\(document.path): there is no article \(link)")
      }
    }
  }

  /// What is written as a symbol is declared in the library.
  @Test func symbolsExist() throws {
    var sources = ""
    for folder in ["OpCluster", "OpClusterOperations", "OpClusterServing", "OpClusterModel"] {
      for path in try Package.files(in: "Sources/\(folder)", suffix: ".swift") {
        sources += try Package.document(path).lines.joined(separator: "\n")
      }
    }
    let words = ["func ", "var ", "let ", "case ", "struct ", "class ", "enum ", "protocol "]
    for document in try Package.documents() where document.path != "README.md" {
      for symbol in document.spans("``", "``") {
        for part in symbol.split(separator: "/") where part != "OpCluster" {
          let name = part.prefix { $0 != "(" && $0 != "-" }
          let isThere =
            name == "init" || words.contains { sources.contains("\($0)\(name)") }
            || sources.contains("static func `\(name)`")
          #expect(isThere, "\(document.path): nothing is called \(symbol)")
        }
      }
    }
  }
}
