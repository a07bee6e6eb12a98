// What operations run besides one command: calls with their times, blocks, groups.

import Citations
import FoundationEssentials
import OpClusterModel
import Testing

@testable import OpClusterManifest

@Suite struct WorkTests {
  /// The type with its version, the times on the template.
  @Test(.checks("S125")) func aCallHasItsTimes() throws {
    let compiled = compile(
      """
      version: 1
      defaults: {cancel: {grace: 4s}}
      operations:
        a: {call: {type: noop}, timeout: 90s}
        b: {call: {type: image.tilt, version: 3, input: {x: 1}}, cancel: {grace: 1s}}
      """)
    #expect(compiled.result.diagnostics.isEmpty)
    let a = try compiled.template("a")
    #expect(a.work == .call(OperationType(name: "noop")))
    #expect(a.timeout == .seconds(90))
    #expect(a.grace == .seconds(4))
    let b = try compiled.template("b")
    #expect(b.work == .call(OperationType(name: "image.tilt", version: 3)))
    #expect(b.timeout == nil)
    #expect(b.grace == .seconds(1))
    #expect(compiled.result.expanded.map { $0.command } == ["(call noop)", "(call image.tilt@3)"])
  }

  /// The mapping is the argument; with values of its own, it is filled in where it runs.
  @Test func aFunctionOfPythonIsACall() throws {
    let compiled = compile(
      """
      version: 1
      operations:
        mean: {python: {function: "statistics:mean", arguments: [[1, 2]], venv: /opt/e}}
        each: {array: 1-3, python: {function: "m:f", keywords: {n: "${{ item }}"}}}
        both: {blocks: [make, {python: {function: "m:f"}}]}
      """)
    #expect(compiled.result.diagnostics.isEmpty)
    let mean = try compiled.template("mean")
    #expect(mean.work == .call(.python))
    #expect(
      String(decoding: mean.payload, as: UTF8.self)
        == #"{"function":"statistics:mean","arguments":[[1,2]],"venv":"\/opt\/e"}"#
        .replacing(#"\/"#, with: "/"))
    #expect(try compiled.template("each").count == 3)
    #expect(
      compiled.result.expanded.map { $0.command }.prefix(1) == ["(call python)"])
  }

  /// What is wrong with one is said at its place.
  @Test(arguments: [
    ("{}", "needs 'function'"), ("{function: mean}", "does not name a function"),
    ("{function: 'a:b:c'}", "does not name a function"),
    ("{function: 'm:f', venv: env}", "must be an absolute path"),
    ("{function: 'm:f', interpreter: bin/python}", "must be an absolute path or a name"),
    ("{function: 'm:f', interpreter: p, venv: /v}", "'interpreter' and 'venv'"),
    ("{function: 'm:f', arguments: {a: 1}}", "'arguments' must be a list"),
    ("{function: 'm:f', keywords: [1]}", "'keywords' must be a mapping"),
    ("{function: 'm:f', argument: []}", "unknown key 'argument'"),
  ])
  func aWrongFunctionIsAFinding(work: String, words: String) {
    let found = compile("version: 1\noperations: {a: {python: \(work)}}").result.diagnostics
    #expect(found.count == 1)
    #expect(found.first?.message.contains(words) == true, "\(found)")
  }

  /// A command keeps its own times, and its template has none.
  @Test func aCommandKeepsItsTimes() throws {
    let compiled = compile("version: 1\noperations: {a: {run: x, timeout: 3s}}")
    #expect(try compiled.command("a").timeout == .seconds(3))
    #expect(try compiled.template("a").timeout == nil)
  }

  /// Groups and arrays stop by themselves.
  @Test func partsHaveFailurePolicies() throws {
    let submission = try compile(
      """
      version: 1
      on_failure: cancel
      operations:
        a: {run: x, array: {range: 1-10, max_failures: 25%}}
        g:
          group:
            max_failures: 1
            operations:
              h: {group: {on_failure: stop, operations: {i: {run: x}, j: {run: x}}}}
              k: {run: x}
        l: {group: {on_failure: continue, operations: {m: {run: x}}}}
      """
    ).submission
    #expect(submission.templates.map(\.name).prefix(4) == ["a", "g.h.i", "g.h.j", "g.h"])
    #expect(
      submission.failureScopes == [
        FailureScope(first: 0, count: 1, maximumFailures: 2, cancelsRunning: true),
        FailureScope(first: 1, count: 2, maximumFailures: 0, cancelsRunning: false),
        FailureScope(first: 1, count: 4, maximumFailures: 1, cancelsRunning: true),
      ])
  }

  /// The values of an array's elements reach the commands of its blocks.
  @Test func blocksOfAnArray() throws {
    let compiled = compile(
      """
      version: 1
      operations:
        b:
          matrix: {x: [1, 2], y: [p]}
          blocks:
            - "make ${{ matrix.x }}"
            - [sum, "${{ matrix.y }}", "${{ index }}"]
            - call: {type: noop}
      """)
    let template = try compiled.template("b")
    #expect(template.count == 2)
    #expect(
      (0..<2).map { template.elementArguments[$0] }
        == [["1", "p"], ["2", "p"]].map { [7] + ElementValues.encode($0) })
    for case .command(let command) in try compiled.blocks("b") {
      #expect(command.elementKeys == ["x", "y"])
    }
    let operation = try #require(compiled.result.expanded.first)
    #expect(
      operation.command == "make ${{ matrix.x }}\nsum ${{ matrix.y }} ${{ index }}\n(call noop)")
    let element = operation.element(1)
    #expect(element.values == ["2", "p"] && element.keys == ["x", "y"])
    #expect(element.command.hasSuffix("sum p 2\n(call noop)"))
  }

  /// What is said of the operation is said of each block, the times of the whole.
  @Test(.checks("S118")) func blocksAreMadeOfCommandsAndCalls() throws {
    let compiled = compile(
      """
      version: 1
      params: {p: a b}
      operations:
        first: {run: x, outputs: [k]}
        b:
          needs: first
          env: {A: b}
          workdir: /w
          ok_exit_codes: [0, 3]
          timeout: 10s
          cancel: {signal: INT, grace: 2s}
          blocks:
            - "make ${{ params.p }} ${{ needs.first.outputs.k }}"
            - [sum, "${{ params.p }}"]
            - call: {type: noop, version: 2, input: {n: 1}}
            - call: {type: noop, version: 2}
      """)
    let template = try compiled.template("b")
    let noop = OperationType(name: "noop", version: 2)
    #expect(template.work == .blocks([noop]))
    #expect(template.timeout == .seconds(10))
    #expect(template.grace == .seconds(2))
    #expect(template.wantsInputs)
    let blocks = try compiled.blocks("b")
    #expect(blocks.count == 4)
    #expect(blocks[2] == .call(noop, argument: Array("{\"n\":1}".utf8)))
    #expect(blocks[3] == .call(noop, argument: []))
    for block in blocks.prefix(2) {
      guard case .command(let command) = block else {
        Issue.record("a block is no command")
        continue
      }
      #expect(command.environment.map { $0.name } == ["A"])
      #expect(command.workingDirectory == "/w")
      #expect(command.successStatuses == [0, 3])
      #expect(command.stopSignal == 2)
      #expect(command.timeout == nil)
      #expect(command.grace == nil)
    }
    #expect(
      compiled.result.expanded[1].command == """
        make 'a b' ${{ needs.first.outputs.k }}
        sum 'a b'
        (call noop@2)
        (call noop@2)
        """)
  }

  @Test func anArrayOfBlocksKnowsItsIndex() throws {
    let compiled = compile(
      "version: 1\noperations: {a: {array: {items: [p, q]}, blocks: ['x ${{ index }}', y]}}")
    let template = try compiled.template("a")
    #expect(template.count == 2)
    // The items go along: commands see them as OP_ITEM.
    #expect(template.elementArguments.count == 2)
    #expect(compiled.result.expanded[0].element(1).command == "x 2\ny")
  }

  private static let groups = """
    version: 1
    operations:
      prepare: {run: x, outputs: [k]}
      build:
        needs: prepare
        queue: big
        env: {A: b}
        labels: {team: blue}
        group:
          operations:
            make: {run: "make ${{ needs.prepare.outputs.k }}", outputs: [path]}
            test:
              needs: make
              array: 1-3
              run: "test ${{ needs.make.outputs.path }}"
            extra: {run: "true", allow_failure: true}
            deep: {needs: {test: finished}, group: {operations: {leaf: {run: l}}}}
      ship: {run: s, needs: build}
      sweep: {run: s, needs: {build: finished}}
    """

  @Test func aGroupIsItsMembersAndAJoint() throws {
    let compiled = compile(Self.groups)
    let submission = try compiled.submission
    #expect(
      submission.templates.map { $0.name } == [
        "prepare", "build.make", "build.test", "build.extra", "build.deep.leaf", "build.deep",
        "build", "ship", "sweep",
      ])
    let names = submission.templates.map { $0.name }
    let edges = submission.groupEdges.map {
      "\(names[Int($0.from)]) \($0.policy) \(names[Int($0.to)])"
    }
    #expect(
      edges == [
        "prepare succeeded build.make", "build.make succeeded build.test",
        "prepare succeeded build.test", "prepare succeeded build.extra",
        "build.test finished build.deep.leaf", "prepare succeeded build.deep.leaf",
        "build.deep.leaf succeeded build.deep",
        "build.make succeeded build", "build.test succeeded build", "build.extra finished build",
        "build.deep.leaf succeeded build",
        "build succeeded ship",
        "build.make finished sweep", "build.test finished sweep", "build.extra finished sweep",
        "build.deep.leaf finished sweep",
      ])
    for name in ["build.make", "build.test", "build.deep.leaf"] {
      let template = try compiled.template(name)
      #expect(submission.queues[Int(template.queue)] == .named("big"))
      #expect(template.labels == [Label(key: "team", value: "blue")])
      #expect(try compiled.command(name).environment.map { $0.name } == ["A"])
    }
    let joint = try compiled.template("build")
    #expect(joint.work == .nothing)
    #expect(joint.demand == .none)
    #expect(
      try compiled.shellText("build.test").segments == [
        .literal("test "),
        .value(.output(operation: "build.make", key: "path"), quoting: .shell),
      ])
    #expect(try compiled.template("build.test").wantsInputs)
  }

  @Test func aGroupsLimitIsAQueue() throws {
    let compiled = compile(
      """
      version: 1
      operations:
        g: {group: {max_concurrent: 2, operations: {a: {run: x}, b: {run: x, queue: own}}}}
      """)
    let submission = try compiled.submission
    #expect(
      submission.queues == [
        .own(QueueSettings(name: "g", maximumConcurrent: 2)), .named("own"), .named("default"),
      ])
    #expect(submission.templates.map { $0.queue } == [0, 1, 2])
  }

  /// The list of join points knows groups, too.
  @Test func barriersBeforeAndAfterGroups() throws {
    let compiled = compile(
      """
      version: 1
      operations:
        g: {group: {operations: {a: {run: x}, b: {run: x}}}}
        h: {group: {operations: {c: {run: x}}}}
      barriers: [{name: j, after: [g], before: [h]}]
      """)
    let submission = try compiled.submission
    let names = submission.templates.map { $0.name }
    let edges = submission.groupEdges.map { "\(names[Int($0.from)]) \(names[Int($0.to)])" }
    #expect(Set(edges).isSuperset(of: ["g j", "j h.c"]))
    #expect(!edges.contains("j h"))
  }

  /// The schema takes and refuses what the decoder does.
  @Test(arguments: [
    ("blocks: [make, [sum, 1], {call: {type: noop, version: 2, input: [1]}}]", true),
    ("blocks: []", false), ("blocks: make", false), ("blocks: [{run: x}]", false),
    ("blocks: ['']", false), ("blocks: [[]]", false), ("call: {type: t, version: 2}", true),
    ("call: {type: t, version: 0}", false), ("call: {version: 1}", false),
    ("group: {operations: {x: {run: y}}, max_concurrent: 2, on_failure: continue}", true),
    ("group: {operations: {}}", false), ("group: {max_concurrent: 2}", false),
    ("group: {operations: {x: {run: y}}, max_concurrent: 0}", false),
    ("group: {operations: {x: {run: y}}, same_worker: false}", true),
  ])
  func theSchemaAgrees(work: String, isFine: Bool) throws {
    let text = "version: 1\noperations: {a: {\(work)}}"
    let schema = try JSONSchema.ofManifests.get()
    let root = try #require(YAMLReader.read(text).root)
    #expect(try schema.accepts(JSON(root)) == isFine, "\(work)")
    #expect(compile(text).errors.isEmpty == isFine, "\(compile(text).errors)")
  }

  @Test("S135: what a call needs, it can read") func callsWantInputs() throws {
    let compiled = compile(
      """
      version: 1
      operations:
        first: {call: {type: noop}}
        second: {needs: first, call: {type: noop}}
        both: {needs: first, blocks: [{call: {type: noop}}, [sum, x]]}
        alone: {blocks: [{call: {type: noop}}, [sum, x]]}
      """)
    #expect(try compiled.template("first").wantsInputs == false)
    #expect(try compiled.template("second").wantsInputs)
    #expect(try compiled.template("both").wantsInputs)
    #expect(try compiled.template("alone").wantsInputs == false)
  }
}
