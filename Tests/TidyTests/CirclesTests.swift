// Circles: files of a target that know of each other, directly or through others. Whoever changes
// one of them has to know them all, so each target has a bound, which may only shrink.
// Small targets share one.

import Testing

@Suite struct CirclesTests {
  /// The most files of a target that may know of each other.
  private static let bounds: [String: Int] = [
    "OpCluster": 13, "OpClusterCoordinator": 14, "OpClusterExecution": 16, "OpClusterLocal": 11,
    "OpClusterOperations": 10, "OpClusterScheduling": 8, "OpClusterSimulation": 1,
    "OpClusterZeroMQ": 7, "opbatch": 12,
  ]
  private static let others = 6

  /// A file knows of another if it names a type that only the other declares, or calls a function
  /// that only the other does.
  @Test func noCircleGrows() throws {
    var targets: [String: [SourceFile]] = [:]
    for file in try Tree.swiftFiles() where file.isSource {
      targets[String(file.path.split(separator: "/")[1]), default: []].append(file)
    }
    #expect(targets.count > 30 && Self.bounds.keys.allSatisfy { targets[$0] != nil })
    for (target, files) in targets.sorted(by: { $0.key < $1.key }) {
      let largest = Acquaintances(files.map { Words(of: $0) }).largestCircle
      print("\(target): \(largest) of \(files.count)")
      if let bound = Self.bounds[target] {
        #expect(largest == bound, "the bound of \(target) is what it is, and no more")
      } else {
        #expect(largest <= Self.others, "\(target)")
      }
    }
  }

  /// The folder of the state could be a target below scheduling; it is none for speed.
  @Test func theStateNamesNothingOfScheduling() throws {
    let target = "Sources/OpClusterScheduling/"
    let files = try Tree.swiftFiles().filter { $0.path.hasPrefix(target) }
    let state = files.filter { $0.path.hasPrefix(target + "State/") }
    let scheduling = files.filter { !$0.path.hasPrefix(target + "State/") }
    #expect(state.count > 40 && scheduling.count > 40)
    // A nested type of the state, which has a namesake above.
    let namesakes: Set = ["Phase"]
    let below = state.map { Words(of: $0) }
    let declaredBelow = below.reduce(into: Set<String>()) { $0.formUnion($1.declared) }
    for file in scheduling {
      let words = Words(of: file)
      let above = words.declared.subtracting(words.hidden).subtracting(declaredBelow)
        .subtracting(namesakes).filter { $0.count >= 4 }
      for (at, own) in below.enumerated() {
        let known = own.used.intersection(above)
        #expect(known.isEmpty, "\(state[at].path) knows \(file.path)")
      }
    }
  }

  @Test func circlesAreFound() {
    let files = [
      SourceFile(path: "A", lines: ["struct First { var b: Second }"]),
      SourceFile(path: "B", lines: ["struct Second { func use() { leave() } } // First"]),
      SourceFile(path: "C", lines: ["func leave() { _ = First.self; \"Fourth\" }"]),
      SourceFile(path: "D", lines: ["struct Fourth { var a: First; let leave = 0 }"]),
    ]
    #expect(Acquaintances(files.map { Words(of: $0) }).largestCircle == 3)
    #expect(Acquaintances(files.dropFirst().map { Words(of: $0) }).largestCircle == 1)
  }
}

/// The names that a file declares for others, and those that it uses.
private struct Words {
  private(set) var declared: Set<String> = []
  /// Functions that other files cannot call.
  private(set) var hidden: Set<String> = []
  private(set) var used: Set<String> = []
  private static let keywords: Set<String> = [
    "struct", "class", "enum", "actor", "protocol", "typealias", "func",
  ]

  init(of file: SourceFile) {
    for (_, line) in file.codeLines { read(Self.withoutTexts(line)) }
  }

  /// A line without what stands between quotes or behind `//`.
  private static func withoutTexts(_ line: String) -> [UInt8] {
    var kept: [UInt8] = []
    var isInText = false
    var last: UInt8 = 0
    for byte in line.utf8 {
      if byte == UInt8(ascii: "\""), last != UInt8(ascii: "\\") {
        isInText.toggle()
      } else if !isInText {
        if byte == UInt8(ascii: "/"), last == byte { return kept }
        kept.append(byte)
      }
      // A second backslash ends an escape.
      last = byte == UInt8(ascii: "\\") && last == byte ? 0 : byte
    }
    return kept
  }

  private mutating func read(_ line: [UInt8]) {
    var keyword: String?
    var isPrivate = false
    var at = 0
    while at < line.count {
      guard line[at].isPartOfName else {
        at += 1
        continue
      }
      let start = at
      while at < line.count, line[at].isPartOfName { at += 1 }
      let word = String(decoding: line[start..<at], as: UTF8.self)
      if let declaring = keyword {
        declared.insert(word)
        if isPrivate, declaring == "func" { hidden.insert(word) }
        keyword = nil
      } else if Self.keywords.contains(word) {
        keyword = word
      } else if word == "private" || word == "fileprivate" {
        isPrivate = true
      } else if word.first?.isUppercase == true
        || (at < line.count && line[at] == UInt8(ascii: "("))
      {
        used.insert(word)
      }
    }
  }
}

extension UInt8 {
  fileprivate var isPartOfName: Bool {
    switch self {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
      true
    default: false
    }
  }
}

/// Which file knows of which.
private struct Acquaintances {
  private var known: [[Int]]

  init(_ files: [Words]) {
    var owner: [String: Int] = [:]
    var shared: Set<String> = []
    for (at, file) in files.enumerated() {
      // Short names are those of collections as well.
      for name in file.declared
      where owner.updateValue(at, forKey: name) != nil || name.count < 4 {
        shared.insert(name)
      }
    }
    known = files.enumerated().map { at, file in
      let others = file.used.subtracting(shared).compactMap { name -> Int? in
        guard let other = owner[name], other != at else { return nil }
        return files[other].hidden.contains(name) ? nil : other
      }
      return Array(Set(others))
    }
  }

  /// The number of files in the largest set in which each leads to each: those reached from one,
  /// and from which it is reached. Costs files times uses.
  var largestCircle: Int {
    var knowing: [[Int]] = Array(repeating: [], count: known.count)
    for (at, others) in known.enumerated() {
      for other in others { knowing[other].append(at) }
    }
    var largest = 0
    var isDone = Array(repeating: false, count: known.count)
    for start in known.indices where !isDone[start] {
      let circle = Self.reached(from: start, by: known)
        .intersection(Self.reached(from: start, by: knowing))
      for file in circle { isDone[file] = true }
      largest = max(largest, circle.count)
    }
    return largest
  }

  private static func reached(from start: Int, by edges: [[Int]]) -> Set<Int> {
    var reached: Set<Int> = [start]
    var work = [start]
    while let file = work.popLast() {
      for next in edges[file] where reached.insert(next).inserted { work.append(next) }
    }
    return reached
  }
}
