// Files with the real `opbatch` and workers with folders of their own: what a submitter names comes
// to the commands, what they leave comes back, each byte as it was.

import Citations
import FoundationEssentials
import Glibc
import OpClusterClient
import OpClusterModel
import RealCluster
import Testing

@Suite(.serialized) struct FileCommandTests {
  private func shape(overTCP: Bool) throws -> Cluster.Shape {
    var shape = Cluster.Shape(workers: 2)
    guard overTCP else { return shape }
    let ports = try FreePorts.find(2)
    shape.clientAddress = "tcp://127.0.0.1:\(ports[0])"
    shape.workerAddress = "tcp://127.0.0.1:\(ports[1])"
    return shape
  }

  /// Calls it in a folder.
  private func opbatch(
    _ words: [String], at folder: String, _ cluster: Cluster
  ) async throws -> (status: Int32, output: String, error: String) {
    let program = try ChildProgram(
      "opbatch-\(UInt32.random(in: 0 ... .max))", "/usr/bin/env",
      ["-C", folder, try Cluster.executable("opbatch")] + words,
      environment: cluster.environment + ["OPBATCH_COORDINATOR=\(cluster.address)"],
      folder: cluster.folder, input: "/dev/null")
    let status = try await program.ended()
    return (status, program.output, program.error)
  }

  private func someBytes(_ count: Int, _ seed: UInt8) -> Data {
    var state = UInt32(seed) &* 2_654_435_761 | 1
    return Data(
      (0..<count).map { _ in
        state = state &* 1_664_525 &+ 1_013_904_223
        return UInt8(state >> 24)
      })
  }

  /// Reads, a reference and a folder go to the commands of an array at both workers; their results
  /// are merged, and fetched.
  @Test(.checks("S140"), arguments: [false, true])
  func thereAndBack(overTCP: Bool) async throws {
    try await Cluster.with(try shape(overTCP: overTCP)) { cluster in
      let home = "\(cluster.folder)/home"
      for folder in ["reads", "tools/deep", "results"] {
        try FileManager.default.createDirectory(
          atPath: "\(home)/\(folder)", withIntermediateDirectories: true)
      }
      var all = Data()
      for (at, name) in ["s1", "s2", "s3", "s4"].enumerated() {
        let bytes = someBytes(300_000 + at, UInt8(at))
        try bytes.write(to: URL(filePath: "\(home)/reads/\(name).fq"))
        all += bytes
      }
      try write("#!/bin/sh\nexec cat \"$@\"\n", to: "\(home)/tools/deep/join")
      #expect(try FileManager.default.setExecutable("\(home)/tools/deep/join"))
      try write("reference\n", to: "\(home)/ref.fa")
      try write("extra\n", to: "\(home)/extra.txt")
      try write(
        """
        version: 1
        files: [./extra.txt, tools/, "tools//deep/*"]
        operations:
          each:
            array: {items: [s1, s2, s3, s4]}
            inputs: {reads: "reads/${{ item }}.fq", ref: ref.fa}
            run: |
              grep -q extra "$OP_INPUTS/extra.txt"
              grep -q reference "$OP_INPUTS/ref"
              cp "$OP_INPUTS/reads" out
            outputs: {files: {out: out}}
          merge:
            needs: {each: {files: [out]}}
            inputs: {reads: "reads/*.fq"}
            run: |
              "$OP_INPUTS/tools/deep/join" "$OP_INPUTS"/each/*/out > all
              cat "$OP_INPUTS"/reads/*.fq | cmp - all
              cat "$OP_INPUTS/late.txt" >> all
            outputs: {files: {all: all}}

        """, to: "\(home)/graph.yaml")
      // Named on the command line, from where it is called.
      try FileManager.default.createDirectory(
        atPath: "\(cluster.folder)/here", withIntermediateDirectories: false)
      try write("late\n", to: "\(cluster.folder)/here/late.txt")
      let words = ["submit", "\(home)/graph.yaml", "--upload", "late.txt", "--wait", "-o", "name"]
      let said = try await opbatch(words, at: "\(cluster.folder)/here", cluster)
      #expect(said.status == 0, "\(said.error)")
      let graph = String(said.output.prefix { $0 != "\n" })
      let result = "\(home)/results/all"
      let fetched = try await cluster.opbatch("fetch", "\(graph)/merge", "-o", result)
      #expect(fetched.status == 0, "\(fetched.error)")
      let found = try Data(contentsOf: URL(filePath: result))
      #expect(found == all + Data("late\n".utf8))
      // Nothing has to be sent a second time.
      let again = try await opbatch(words, at: "\(cluster.folder)/here", cluster)
      #expect(again.status == 0, "\(again.error)")
      try FileManager.default.removeItem(atPath: "\(home)/ref.fa")
      for command in ["check", "submit"] {
        let missing = try await cluster.opbatch(command, "\(home)/graph.yaml")
        #expect(missing.status == 65 && missing.error.contains("there is no"), "\(missing.error)")
      }
    }
  }

  /// A pipeline whose steps are reused: the second time nothing runs, after an edit what hangs on
  /// it; what was left then is shown and fetched as its own.
  @Test(.checks("S152")) func notTwice() async throws {
    try await Cluster.with(try shape(overTCP: false)) { cluster in
      let home = cluster.folder
      let text = """
        version: 1
        defaults: {reuse: true}
        operations:
          clean:
            inputs: {raw: raw.csv}
            run: grep -v '^#' "$OP_INPUTS/raw" > clean.csv && echo ran >> \(home)/ran
            outputs: {files: {clean: clean.csv}}
          count:
            needs: {clean: {files: [clean]}}
            run: |
              echo "rows=$(wc -l < "$OP_INPUTS/clean/clean")" >> "$OP_OUTPUT"
              echo ran >> \(home)/ran
            outputs: [rows]
          say:
            needs: count
            run: echo "${{ needs.count.outputs.rows }} rows" && echo ran >> \(home)/ran

        """
      try write("#head\n1\n2\n", to: "\(home)/raw.csv")
      func runs(_ text: String) async throws -> Int {
        try write("", to: "\(home)/ran")
        try write(text, to: "\(home)/graph.yaml")
        let said = try await cluster.opbatch("submit", "\(home)/graph.yaml", "--wait")
        #expect(said.status == 0, "\(said.error)")
        let lines = try String(contentsOfFile: "\(home)/ran", encoding: .utf8)
        return lines.split(separator: "\n").count
      }
      func wouldRun(_ text: String) async throws -> [String] {
        try write(text, to: "\(home)/graph.yaml")
        let said = try await cluster.opbatch("check", "\(home)/graph.yaml", "--reuse", "-o", "name")
        #expect(said.status == 0, "\(said.error)")
        return said.output.split(separator: "\n").map(String.init)
      }
      #expect(try await wouldRun(text) == ["clean", "count", "say"])
      #expect(try await runs(text) == 3)
      #expect(try await wouldRun(text) == [])
      #expect(try await runs(text) == 0)
      let edited = text.replacing("} rows", with: "} lines")
      #expect(try await wouldRun(edited) == ["say"])
      #expect(try await runs(edited) == 1)
      let shown = try await cluster.opbatch("show", "2/count")
      #expect(shown.output.contains("reused") && shown.output.contains("rows=2"), "\(shown.output)")
      let fetched = try await cluster.opbatch("fetch", "2/clean", "-o", "\(home)/fetched")
      #expect(fetched.status == 0, "\(fetched.error)")
      #expect(try String(contentsOfFile: "\(home)/fetched", encoding: .utf8) == "1\n2\n")
      try write("#head\n1\n2\n3\n", to: "\(home)/raw.csv")
      #expect(try await runs(text) == 3)
      // Another head changes what the first reads, and nothing that it leaves.
      try write("#another\n1\n2\n3\n", to: "\(home)/raw.csv")
      #expect(try await runs(text) == 1)
    }
  }

  /// The only worker that has what was made dies with it: another makes it again, and what hangs on
  /// it gets the same bytes; not what is marked as not reproducible.
  @Test(.checks("S153"), arguments: [true, false]) func madeAgain(reproducible: Bool) async throws {
    var shape = try shape(overTCP: false)
    shape.workers = 1
    try await Cluster.with(shape.losingSoon) { cluster in
      let home = cluster.folder
      let text = """
        version: 1
        operations:
          make:
            run: seq 100000 > numbers && echo make >> \(home)/ran
            outputs: {files: {numbers: numbers}}
            reproducible: \(reproducible)
          join:
            needs: {make: {files: [numbers]}}
            run: paste -sd+ "$OP_INPUTS/make/numbers" > sum && echo join >> \(home)/ran
            outputs: {files: {sum: sum}}
          gate:
            run: while [ ! -e \(home)/go ]; do sleep 0.05; done
          read:
            needs: {join: {files: [sum]}, gate: {}}
            run: cp "$OP_INPUTS/join/sum" result
            outputs: {files: {result: result}}

        """
      try write(text, to: "\(home)/graph.yaml")
      let said = try await cluster.opbatch("submit", "\(home)/graph.yaml", "-o", "name")
      #expect(said.status == 0, "\(said.error)")
      let connection = try await cluster.connect()
      func row(_ name: String, of graph: UInt32) async throws -> OperationRow? {
        try await connection.operations(.graph(GraphID(graph))).first { $0.name == name }
      }
      try await eventually("join has ended") { try await row("join", of: 1)?.outcome != nil }
      try cluster.startWorker("w2")
      try await cluster.workersAreConnected(2)
      cluster.daemon("w1")?.signal(SIGKILL)
      try write("", to: "\(home)/go")
      try await eventually("read has ended") { try await row("read", of: 1)?.outcome != nil }
      let ran = try String(contentsOfFile: "\(home)/ran", encoding: .utf8)
      let shown = try await cluster.opbatch("show", "1/read")
      if reproducible {
        #expect(ran == "make\njoin\nmake\njoin\n")
        #expect(shown.status == 0 && shown.output.contains("succeeded"), "\(shown.output)")
        let fetched = try await cluster.opbatch("fetch", "1/read", "-o", "\(home)/fetched")
        #expect(fetched.status == 0, "\(fetched.error)")
        let sum = try String(contentsOfFile: "\(home)/fetched", encoding: .utf8)
        #expect(sum == (1...100_000).map { "\($0)" }.joined(separator: "+") + "\n")
        let listed = try await cluster.opbatch("ls", "-a")
        #expect(listed.output.contains("join again"), "\(listed.output)")
      } else {
        #expect(ran == "make\njoin\n")
        #expect(shown.output.contains("1/join made it, and did not succeed"), "\(shown.output)")
        let again = try await cluster.opbatch("show", "2/join")
        #expect(again.output.contains("1/make made it, and is not reproducible"), "\(again.output)")
      }
    }
  }

  /// With `replicas: 2` a second worker has what was made, and nothing is made again.
  @Test(.checks("S140")) func replicas() async throws {
    try await Cluster.with(try shape(overTCP: false).losingSoon) { cluster in
      let home = cluster.folder
      let text = """
        version: 1
        operations:
          make:
            run: seq 100000 > numbers && echo make >> \(home)/ran
            outputs: {files: {numbers: numbers}}
            replicas: 2
          gate:
            run: while [ ! -e \(home)/go ]; do sleep 0.05; done
          read:
            needs: {make: {files: [numbers]}, gate: {}}
            run: cmp "$OP_INPUTS/make/numbers" <(seq 100000)
            shell: bash

        """
      try write(text, to: "\(home)/graph.yaml")
      let said = try await cluster.opbatch("submit", "\(home)/graph.yaml", "-o", "name")
      #expect(said.status == 0, "\(said.error)")
      let connection = try await cluster.connect()
      try await eventually("two workers have it") {
        let listed = try await cluster.opbatch("files", "1/make", "-o", "json")
        return listed.output.contains("w1") && listed.output.contains("w2")
      }
      let made = try #require(
        try await connection.operations(.graph(GraphID(1))).first { $0.name == "make" })
      let shown = try await cluster.opbatch("show", "1/make", "-o", "json")
      let maker = shown.output.contains("w2") ? "w2" : "w1"
      #expect(made.outcome == .succeeded)
      cluster.daemon(maker)?.signal(SIGKILL)
      try write("", to: "\(home)/go")
      try await eventually("it has ended") {
        try await connection.graphs(.graph(GraphID(1))).first?.state == .succeeded
      }
      let ran = try String(contentsOfFile: "\(home)/ran", encoding: .utf8)
      #expect(ran == "make\n")
    }
  }

  /// A worker that drains leaves when another one has what only it had, and nothing is made again.
  @Test(.checks("S140", "S148")) func drained() async throws {
    try await Cluster.with(try shape(overTCP: false)) { cluster in
      let home = cluster.folder
      let text = """
        version: 1
        operations:
          make:
            run: seq 100000 > numbers && echo make >> \(home)/ran
            outputs: {files: {numbers: numbers}}
          gate:
            needs: [make]
            run: while [ ! -e \(home)/go ]; do sleep 0.05; done
          read:
            needs: {make: {files: [numbers]}, gate: {}}
            run: cmp "$OP_INPUTS/make/numbers" <(seq 100000)
            shell: bash

        """
      try write(text, to: "\(home)/graph.yaml")
      let said = try await cluster.opbatch("submit", "\(home)/graph.yaml", "-o", "name")
      #expect(said.status == 0, "\(said.error)")
      let connection = try await cluster.connect()
      try await eventually("it is made") {
        let rows = try await connection.operations(.graph(GraphID(1)))
        return rows.first { $0.name == "make" }?.outcome == .succeeded
      }
      let shown = try await cluster.opbatch("show", "1/make", "-o", "json")
      let (maker, other) = shown.output.contains("w2") ? ("w2", "w1") : ("w1", "w2")
      #expect(try await cluster.opbatch("worker", "drain", maker).status == 0)
      try await eventually("the other has it") {
        try await cluster.opbatch("files", "1/make", "-o", "json").output.contains(other)
      }
      try write("", to: "\(home)/go")
      try await eventually("it has ended, and the maker has left") {
        let hasEnded = try await connection.graphs(.graph(GraphID(1))).first?.state == .succeeded
        let workers = try await cluster.opbatch("worker", "ls", "-o", "json").output
        return hasEnded && !workers.contains("\"\(maker)\"")
      }
      let ran = try String(contentsOfFile: "\(home)/ran", encoding: .utf8)
      #expect(ran == "make\n")
    }
  }

  /// What a graph took over from an earlier one, or from an operation that did the same, was lost
  /// with its worker: it is made again for who needs it.
  @Test(.checks("S153"), arguments: [true, false]) func madeAgainForAnother(
    isRetried: Bool
  ) async throws {
    var shape = try shape(overTCP: false)
    shape.workers = 1
    try await Cluster.with(shape.losingSoon) { cluster in
      let home = cluster.folder
      func text(_ read: String) -> String {
        """
        version: 1
        defaults: {reuse: \(!isRetried)}
        operations:
          make:
            run: seq 1000 > numbers && echo make >> \(home)/ran
            outputs: {files: {numbers: numbers}}
          join:
            needs: {make: {files: [numbers]}}
            run: paste -sd+ "$OP_INPUTS/make/numbers" > sum && echo join >> \(home)/ran
            outputs: {files: {sum: sum}}
          gate:
            needs: join
            reuse: false
            run: while [ ! -e \(home)/go ]; do sleep 0.05; done
          read:
            needs: {join: {files: [sum]}, gate: {}}
            run: \(read)
            outputs: {files: {result: result}}

        """
      }
      func state(_ graph: UInt32) async throws -> GraphRow.State? {
        try await connection.graphs(.graph(GraphID(graph))).first?.state
      }
      let connection = try await cluster.connect()
      try write("", to: "\(home)/go")
      let first =
        isRetried ? "test -e \(home)/may && cp $OP_INPUTS/join/sum result" : "touch result"
      try write(text(first), to: "\(home)/graph.yaml")
      let said = try await cluster.opbatch("submit", "\(home)/graph.yaml", "--wait")
      #expect(said.status == (isRetried ? 1 : 0), "\(said.error)")
      try write("", to: "\(home)/may")
      if isRetried {
        cluster.daemon("w1")?.signal(SIGKILL)
        try cluster.startWorker("w2")
        let again = try await cluster.opbatch("retry", "1", "--failed", "--wait")
        #expect(again.status == 0, "\(again.error)")
      } else {
        try FileManager.default.removeItem(atPath: "\(home)/go")
        try write(text("cp $OP_INPUTS/join/sum result"), to: "\(home)/graph.yaml")
        let again = try await cluster.opbatch("submit", "\(home)/graph.yaml")
        #expect(again.status == 0, "\(again.error)")
        try await eventually("it is reused") {
          try await connection.operations(.graph(GraphID(2))).contains {
            $0.name == "join" && $0.outcome == .succeeded
          }
        }
        cluster.daemon("w1")?.signal(SIGKILL)
        try cluster.startWorker("w2")
        try write("", to: "\(home)/go")
        try await eventually("it has ended") { try await state(2) == .succeeded }
      }
      let ran = try String(contentsOfFile: "\(home)/ran", encoding: .utf8)
      #expect(ran == "make\njoin\nmake\njoin\n")
      let fetched = try await cluster.opbatch("fetch", "2/read", "-o", "\(home)/fetched")
      #expect(fetched.status == 0, "\(fetched.error)")
      let sum = try String(contentsOfFile: "\(home)/fetched", encoding: .utf8)
      #expect(sum == (1...1_000).map { "\($0)" }.joined(separator: "+") + "\n")
    }
  }

  /// Ctrl-C while files wait for a worker that does not answer: nothing is submitted.
  @Test func interrupted() async throws {
    var shape = try shape(overTCP: false)
    shape.workers = 1
    try await Cluster.with(shape) { cluster in
      try someBytes(5_000, 1).write(to: URL(filePath: "\(cluster.folder)/file"))
      try write(
        "version: 1\noperations: {a: {run: 'true', inputs: {f: file}}}\n",
        to: "\(cluster.folder)/graph.yaml")
      cluster.daemon("w1")?.signal(SIGSTOP)
      let submit = try cluster.startOpbatch(["submit", "\(cluster.folder)/graph.yaml"])
      try await eventually("it takes Ctrl-C") { submit.catches(SIGINT) }
      submit.signal(SIGINT)
      #expect(try await submit.ended() == 130)
      #expect(submit.error.contains("nothing was submitted"), "\(submit.error)")
      cluster.daemon("w1")?.signal(SIGCONT)
      let listed = try await cluster.opbatch("ls", "-a", "-o", "name")
      #expect(listed.output == "", "\(listed.output)")
    }
  }

  /// Ctrl-C while a file is brought leaves what was there, and nothing else; so does a full disk.
  @Test func fetchesWholeFilesOnly() async throws {
    var shape = try shape(overTCP: false)
    shape.workers = 1
    try await Cluster.with(shape) { cluster in
      try write(
        """
        version: 1
        operations:
          make: {run: "head -c 3000000 /dev/zero > large", outputs: {files: {large: large}}}

        """, to: "\(cluster.folder)/graph.yaml")
      let made = try await cluster.opbatch("submit", "\(cluster.folder)/graph.yaml", "--wait")
      #expect(made.status == 0, "\(made.error)")
      let here = "\(cluster.folder)/here"
      try FileManager.default.createDirectory(
        atPath: here, withIntermediateDirectories: false)
      try write("before", to: "\(here)/large")
      let words = ["fetch", "1/make", "-o", "\(here)/large", "--replace"]
      cluster.daemon("w1")?.signal(SIGSTOP)
      let fetch = try cluster.startOpbatch(words)
      try await eventually("it has begun") {
        try FileManager.default.contentsOfDirectory(atPath: here).count > 1
      }
      fetch.signal(SIGINT)
      #expect(try await fetch.ended() == 130, "\(fetch.error)")
      #expect(fetch.error.contains("not everything was fetched"), "\(fetch.error)")
      cluster.daemon("w1")?.signal(SIGCONT)
      #expect(try FileManager.default.contentsOfDirectory(atPath: here) == ["large"])
      #expect(text(of: "\(here)/large") == "before")
      // A disk that has no room for it; only root may make one.
      if geteuid() == 0 {
        let script = """
          mount -t tmpfs -o size=1m none "$1" && echo before > "$1/large" || exit 99
          shift; "$@"; status=$?
          [ "$(ls -A "$0")" = large ] && [ "$(cat "$0/large")" = before ] || exit 98
          exit $status
          """
        let program = try ChildProgram(
          "full", "/usr/bin/unshare",
          ["-m", "/bin/sh", "-c", script, here, here, try Cluster.executable("opbatch")] + words,
          environment: cluster.environment + ["OPBATCH_COORDINATOR=\(cluster.address)"],
          folder: cluster.folder, input: "/dev/null")
        let status = try await program.ended()
        #expect(![0, 98, 99].contains(status), "\(status) \(program.error)")
        #expect(program.error.contains("No space left"), "\(program.error)")
      }
      let fetched = try cluster.startOpbatch(words)
      #expect(try await fetched.ended() == 0, "\(fetched.error)")
      #expect(try Data(contentsOf: URL(filePath: "\(here)/large")).count == 3_000_000)
      #expect(try FileManager.default.contentsOfDirectory(atPath: here) == ["large"])
    }
  }

  /// Nobody can connect to the store of the worker that has a file, as behind a firewall; it can
  /// connect to others.
  @Test(.checks("S154")) func aFileOfAClosedWorkerIsFetched() async throws {
    try await Cluster.with(try shape(overTCP: false)) { cluster in
      try write(
        "version: 1\noperations: {a: {run: 'printf abc > f', outputs: {files: {f: f}}}}\n",
        to: "\(cluster.folder)/graph.yaml")
      let said = try await cluster.opbatch("submit", "--wait", "\(cluster.folder)/graph.yaml")
      try #require(said.status == 0, "\(said.error)")
      let listed = try await cluster.opbatch("files", "1", "-o", "json")
      let holder = listed.output.contains("\"w1\"") ? "w1" : "w2"
      let sockets = try FileManager.default.subpathsOfDirectory(atPath: cluster.folder)
        .filter { $0.hasSuffix(".socket") && $0.contains(holder) }
      try #require(sockets.count == 1, "\(sockets) of \(holder)")
      try FileManager.default.removeItem(atPath: "\(cluster.folder)/\(sockets[0])")
      let fetched = try await cluster.opbatch("fetch", "1/a", "-o", "\(cluster.folder)/fetched")
      #expect(fetched.status == 0, "\(fetched.error)")
      #expect(FileManager.default.contents(atPath: "\(cluster.folder)/fetched") == Data("abc".utf8))
    }
  }

  /// Where no worker is there yet, files wait for one as operations do: where workers come and go
  /// with what waits, somebody has to be seen waiting first.
  @Test(.checks("S148")) func filesWaitForAWorker() async throws {
    try await Cluster.with(Cluster.Shape(workers: 0, slots: 1)) { cluster in
      try write("some text\n", to: "\(cluster.folder)/text")
      try write(
        "version: 1\noperations: {a: {run: 'cat $OP_INPUTS/f', inputs: {f: text}}}\n",
        to: "\(cluster.folder)/graph.yaml")
      let submission = try cluster.startOpbatch([
        "submit", "\(cluster.folder)/graph.yaml", "--wait",
      ])
      try await eventually("it says what it waits for", details: { submission.error }) {
        submission.error.contains("waiting for a worker with a store")
      }
      let connection = try await cluster.connect()
      guard case .configuration(let values) = try await connection.request(.configuration) else {
        throw Trouble("no configuration")
      }
      await connection.close()
      #expect(values.storesAreWanted)
      try cluster.startWorker("w1")
      let status = try await submission.ended()
      #expect(status == 0, "\(submission.error)")
      let log = try await cluster.opbatch("logs", "1/a")
      #expect(log.output == "some text\n")
      // Ctrl-C ends the wait, and nothing was submitted.
      let drained = try await cluster.opbatch("worker", "drain", "w1")
      #expect(drained.status == 0, "\(drained.error)")
      try write("other text\n", to: "\(cluster.folder)/text")
      let interrupted = try cluster.startOpbatch(["submit", "\(cluster.folder)/graph.yaml"])
      try await eventually("it waits", details: { interrupted.error }) {
        interrupted.error.contains("waiting for a worker with a store")
      }
      interrupted.signal(SIGINT)
      #expect(try await interrupted.ended() == 130)
      #expect(interrupted.error.contains("nothing was submitted"), "\(interrupted.error)")
    }
  }

  /// Stores that are too small, or switched off: an error that says so, and nothing is submitted.
  @Test(arguments: ["0", "1000"]) func nobodyTakesThem(store: String) async throws {
    var shape = try shape(overTCP: false)
    shape.workerFlags = Array(repeating: ["--store", store], count: 2)
    try await Cluster.with(shape) { cluster in
      try someBytes(5_000, 1).write(to: URL(filePath: "\(cluster.folder)/large"))
      try write(
        "version: 1\noperations: {a: {run: 'true', inputs: {f: large}}}\n",
        to: "\(cluster.folder)/graph.yaml")
      let said = try await cluster.opbatch("submit", "\(cluster.folder)/graph.yaml")
      #expect(said.status != 0)
      let reason = store == "0" ? "no connected worker has a store" : "has no room for it"
      #expect(said.error.contains(reason), "\(said.error)")
      let listed = try await cluster.opbatch("ls", "-a", "-o", "name")
      #expect(listed.output == "", "\(listed.output)")
    }
  }
}

extension FileManager {
  fileprivate func setExecutable(_ path: String) throws -> Bool {
    try setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    return isExecutableFile(atPath: path)
  }
}
