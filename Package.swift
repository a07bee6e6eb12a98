// swift-tools-version: 6.2
import PackageDescription

// The manifest is the law: an arrow that is not drawn here does not compile.
//
//   commands    opcoord        opworker         opbatch                      opsim, opbench
//   programs                   Serving                   OpCluster
//   bodies      Coordinator    Worker           Client ──┴── Local           Simulation
//   attempts                   Attempts                      Attempts
//   library                    Operations                    Operations
//   brains      Scheduling     Execution        –            both brains     both brains
//   hands       Wire Journal   Wire Processes   Wire Manif.  Wire Processes  Wire
//               ZeroMQ Keys    ZeroMQ Keys      ZeroMQ Keys  –               –
//   ground      Folders, below ZeroMQ, Keys, Journal, Attempts and Client
//               System, below Folders and all that speaks to the kernel
//   questions   Queries, below Scheduling, Coordinator, Local and opbatch
//   shown       Presentation, below all that speaks to people at a shell
//   words       Model ─────────────┴────────────────┴────────────┴───────────────┘
//
//   relays      oprelay on Relay: the brain Rack, above Execution; Worker's connection upwards,
//               Coordinator's port and gate downwards
//
//   pages       opweb on Dashboard: pages of Presentation over HTTP, which Metrics serves by, too;
//               what they ask is Reading, which opbatch shares, above Client
//
//   examples    opexamples, opexampleworker; OpClusterExamples on OpCluster; ExampleMaterials

let heap = Target.Dependency.product(name: "HeapModule", package: "swift-collections")
let deque = Target.Dependency.product(name: "DequeModule", package: "swift-collections")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let protobuf = Target.Dependency.product(name: "SwiftProtobuf", package: "swift-protobuf")
let yams = Target.Dependency.product(name: "Yams", package: "Yams")
let arguments = Target.Dependency.product(
  name: "ArgumentParser", package: "swift-argument-parser")

let package = Package(
  name: "opcluster",
  products: [
    .library(
      name: "OpCluster",
      targets: ["OpCluster", "OpClusterOperations", "OpClusterClient", "OpClusterModel"]),
    .library(name: "OpClusterOperations", targets: ["OpClusterOperations"]),
    .library(name: "OpClusterServing", targets: ["OpClusterServing"]),
    .executable(name: "opcoord", targets: ["opcoord"]),
    .executable(name: "opworker", targets: ["opworker"]),
    .executable(name: "oprelay", targets: ["oprelay"]),
    .executable(name: "opbatch", targets: ["opbatch"]),
    .executable(name: "opweb", targets: ["opweb"]),
    .executable(name: "opsim", targets: ["opsim"]),
    .executable(name: "opbench", targets: ["opbench"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-protobuf", from: "1.39.0"),
    .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
  ],
  targets: [
    // C as it is
    .systemLibrary(name: "CSystem"),
    .systemLibrary(name: "CZeroMQ", pkgConfig: "libzmq", providers: [.apt(["libzmq3-dev"])]),
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(
      name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(
      name: "CHTTP", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
    .systemLibrary(name: "CPNG", pkgConfig: "libpng", providers: [.apt(["libpng-dev"])]),
    .target(name: "CProcess"),

    // words
    .target(name: "OpClusterModel"),

    // What questions mean, and rows and sentences of what has ended.
    .target(name: "OpClusterQueries", dependencies: ["OpClusterModel"]),

    // brains
    .target(
      name: "OpClusterScheduling",
      dependencies: ["OpClusterQueries", "OpClusterModel", heap, deque]),
    .target(name: "OpClusterExecution", dependencies: ["OpClusterModel", heap, deque]),

    // Decides for the machines behind a relay.
    .target(
      name: "OpClusterRack",
      dependencies: ["OpClusterExecution", "OpClusterModel", heap, deque]),

    // hands
    // Clocks, threads, mailboxes, polling, signals: what every program here wants of the system.
    .target(name: "OpClusterSystem", dependencies: ["CSystem"]),
    // Whose a folder or a file is; the only way to what is found by its path alone.
    .target(name: "OpClusterFolders", dependencies: ["OpClusterSystem", "OpClusterModel"]),
    .target(
      name: "OpClusterZeroMQ",
      dependencies: ["CZeroMQ", "OpClusterFolders", "OpClusterSystem"]),
    .target(
      name: "OpClusterKeys",
      dependencies: ["OpClusterFolders", "OpClusterModel", "OpClusterWire", "OpClusterZeroMQ"]),
    .target(name: "OpClusterWire", dependencies: ["OpClusterModel", protobuf]),
    .target(
      name: "OpClusterJournal", dependencies: ["OpClusterSystem", "CSQLite", "OpClusterFolders"]),
    // A server of HTTP, for figures and for pages.
    .target(name: "OpClusterHTTP", dependencies: ["CHTTP"]),
    // Figures for monitoring, and the server that tells them.
    .target(name: "OpClusterMetrics", dependencies: ["OpClusterHTTP", "OpClusterSystem"]),
    // Contents on a worker's disk, named by their digests.
    .target(
      name: "OpClusterStore",
      dependencies: ["OpClusterFolders", "OpClusterSystem", "OpClusterModel", "CCrypto", heap]),
    // Contents on their way from one store to another.
    .target(
      name: "OpClusterTransfer",
      dependencies: [
        "OpClusterStore", "OpClusterWire", "OpClusterZeroMQ", "OpClusterSystem",
        "OpClusterModel", heap, deque, logging,
      ]),
    .target(name: "OpClusterProcesses", dependencies: ["OpClusterSystem", "CProcess"]),
    .target(name: "OpClusterManifest", dependencies: ["OpClusterModel", yams]),
    // Workers that come as jobs of a batch system.
    .target(name: "OpClusterAllocation", dependencies: ["OpClusterModel"]),
    // Graphs of other systems, as manifests.
    .target(name: "OpClusterImports", dependencies: ["OpClusterModel"]),
    // The grammar of `opbatch map`: arguments, replacement strings, quotation, job logs.
    .target(name: "OpClusterOneLiners"),
    .target(name: "OpClusterPresentation", dependencies: ["OpClusterModel", heap]),
    // What both daemons say to whoever started them.
    .target(
      name: "OpClusterDaemon", dependencies: ["OpClusterSystem", "OpClusterModel", logging]),

    // library: what a programmer writes for the running side
    .target(
      name: "OpClusterOperations", dependencies: ["OpClusterModel", "OpClusterWire", logging]),

    // bodies
    .target(
      name: "OpClusterCoordinator",
      dependencies: [
        "OpClusterScheduling", "OpClusterQueries", "OpClusterWire", "OpClusterJournal",
        "OpClusterKeys", "OpClusterFolders", "OpClusterSystem", "OpClusterZeroMQ",
        "OpClusterPresentation", "OpClusterModel", "OpClusterMetrics", "OpClusterHTTP",
        deque, heap, logging,
      ]),
    // What runs the work of attempts, for a worker and for a program that is its own cluster.
    .target(
      name: "OpClusterAttempts",
      dependencies: [
        "OpClusterFolders", "OpClusterOperations", "OpClusterWire", "OpClusterProcesses",
        "OpClusterDaemon", "OpClusterSystem", "OpClusterModel", deque, logging,
      ]),
    .target(
      name: "OpClusterWorker",
      dependencies: [
        "OpClusterMetrics", "OpClusterHTTP", "OpClusterAttempts", "OpClusterOperations",
        "OpClusterExecution",
        "OpClusterWire", "OpClusterProcesses", "OpClusterPresentation", "OpClusterDaemon",
        "OpClusterSystem", "OpClusterStore", "OpClusterTransfer", "OpClusterZeroMQ",
        "OpClusterModel", logging,
      ]),
    // A worker to the coordinator, a coordinator to the machines of a rack.
    .target(
      name: "OpClusterRelay",
      dependencies: [
        "OpClusterRack", "OpClusterExecution", "OpClusterAttempts", "OpClusterWorker",
        "OpClusterCoordinator", "OpClusterPresentation", "OpClusterWire", "OpClusterKeys",
        "OpClusterSystem", "OpClusterZeroMQ", "OpClusterModel", logging,
      ]),
    .target(
      name: "OpClusterServing",
      dependencies: [
        "OpClusterAttempts", "OpClusterWorker", "OpClusterClient", "OpClusterOperations",
        "OpClusterKeys", "OpClusterPresentation",
        "OpClusterFolders", "OpClusterDaemon", "OpClusterHTTP", "OpClusterSystem",
        "OpClusterZeroMQ", "OpClusterModel", arguments,
        logging,
      ]),
    .target(
      name: "OpClusterClient",
      dependencies: [
        "OpClusterFolders", "OpClusterModel", "OpClusterWire", "OpClusterKeys", "OpClusterSystem",
        "OpClusterStore", "OpClusterTransfer", "OpClusterZeroMQ", "OpClusterPresentation", logging,
      ]),
    // What commands and pages ask a coordinator, and the rows that they get, opened.
    .target(
      name: "OpClusterReading",
      dependencies: [
        "OpClusterClient", "OpClusterPresentation", "OpClusterQueries", "OpClusterWire",
        "OpClusterModel",
      ]),
    // Pages about a cluster, for browsers.
    .target(
      name: "OpClusterDashboard",
      dependencies: [
        "OpClusterReading", "OpClusterClient", "OpClusterPresentation", "OpClusterHTTP",
        "OpClusterSystem", "OpClusterModel",
      ]),
    .target(
      name: "OpClusterLocal",
      dependencies: [
        "OpClusterScheduling", "OpClusterQueries", "OpClusterExecution", "OpClusterOperations",
        "OpClusterAttempts", "OpClusterWire", "OpClusterSystem", "OpClusterModel",
        deque,
      ]),
    .target(
      name: "OpClusterSimulation",
      dependencies: [
        "OpClusterScheduling", "OpClusterExecution", "OpClusterWire", "OpClusterModel",
      ]),

    // the library: operations and queues as objects
    .target(
      name: "OpCluster",
      dependencies: [
        "OpClusterClient", "OpClusterLocal", "OpClusterOperations", "OpClusterWire",
        "OpClusterPresentation", "OpClusterModel", logging,
      ]),

    // examples: what they work on, the examples themselves, their worker and their command
    .target(name: "ExampleMaterials", dependencies: ["CPNG"]),
    .target(
      name: "OpClusterExamples",
      dependencies: ["OpCluster", "OpClusterModel", "ExampleMaterials"]),
    .executableTarget(
      name: "opexampleworker", dependencies: ["OpClusterExamples", "OpClusterServing"]),
    .executableTarget(
      name: "opexamples",
      dependencies: [
        "OpClusterExamples", "ExampleMaterials", "OpCluster", "OpClusterClient", arguments,
      ]),

    // commands
    .executableTarget(
      name: "opcoord",
      dependencies: [
        "OpClusterCoordinator", "OpClusterJournal", "OpClusterKeys", "OpClusterFolders",
        "OpClusterDaemon", "OpClusterHTTP", "OpClusterSystem", "OpClusterZeroMQ",
        "OpClusterModel", arguments,
        logging,
      ]),
    .executableTarget(
      name: "opworker", dependencies: ["OpClusterServing"]),
    .executableTarget(
      name: "oprelay",
      dependencies: [
        "OpClusterRelay", "OpClusterCoordinator", "OpClusterWorker", "OpClusterKeys",
        "OpClusterPresentation",
        "OpClusterDaemon", "OpClusterSystem", "OpClusterZeroMQ", "OpClusterModel", arguments,
        logging,
      ]),
    .executableTarget(
      name: "opbatch",
      dependencies: [
        "OpClusterAllocation", "OpClusterClient", "OpClusterReading", "OpClusterFolders",
        "OpClusterKeys", "OpClusterManifest", "OpClusterPresentation", "OpClusterQueries",
        "OpClusterStore", "OpClusterImports", "OpClusterWire", "OpClusterSystem",
        "OpClusterZeroMQ", "OpClusterModel", "OpClusterOneLiners", arguments,
      ]),
    .executableTarget(
      name: "opweb",
      dependencies: [
        "OpClusterDashboard", "OpClusterClient", "OpClusterHTTP", "OpClusterFolders",
        "OpClusterDaemon", "OpClusterSystem", "OpClusterModel", arguments,
      ]),
    .executableTarget(
      name: "opsim",
      dependencies: ["OpClusterSimulation", "OpClusterSystem", "OpClusterModel", arguments]),
    .executableTarget(
      name: "opbench",
      dependencies: [
        "OpCluster", "OpClusterScheduling", "OpClusterExecution", "OpClusterOperations",
        "OpClusterServing", "OpClusterClient", "OpClusterWire", "OpClusterSystem",
        "OpClusterZeroMQ", "OpClusterModel", arguments,
      ]),

    // tests, a target for each of the above; all of them can say which rules they check
    .target(name: "Citations", path: "Tests/Citations"),
    .testTarget(name: "TidyTests"),
    .target(
      name: "ScenarioBody", dependencies: ["OpClusterModel"], path: "Tests/ScenarioBody"),
    .testTarget(
      name: "OpClusterInProcessTests",
      dependencies: [
        "ScenarioBody", "OpClusterCoordinator", "OpClusterAttempts", "OpClusterWorker",
        "OpClusterOperations",
        "OpClusterClient", "OpClusterSystem", "OpClusterZeroMQ", "OpClusterModel", logging,
      ]),
    .target(name: "CallFilter", path: "Tests/CallFilter"),
    .executableTarget(
      name: "ProcessStandIn", dependencies: ["OpClusterProcesses", "CallFilter"],
      path: "Tests/ProcessStandIn"),
    .testTarget(
      name: "OpClusterQueriesTests", dependencies: ["OpClusterQueries", "OpClusterModel"]),
    .testTarget(
      name: "OpClusterSchedulingTests",
      dependencies: ["ScenarioBody", "OpClusterScheduling", "OpClusterQueries", "OpClusterModel"],
      exclude: ["Scripts"]),
    .testTarget(
      name: "OpClusterExecutionTests", dependencies: ["OpClusterExecution", "OpClusterModel"]),
    .target(name: "CAllocationCount", path: "Tests/CAllocationCount"),
    .target(
      name: "CostWorld",
      dependencies: [
        "CAllocationCount", "OpClusterScheduling", "OpClusterExecution", "OpClusterWire",
        "OpClusterModel",
      ],
      path: "Tests/CostWorld"),
    .executableTarget(name: "CostProgram", dependencies: ["CostWorld"], path: "Tests/CostProgram"),
    .testTarget(
      name: "OpClusterCostTests", dependencies: ["CostWorld", "CostProgram", "RealCluster"],
      exclude: ["instructions", "thresholds"]),
    .testTarget(
      name: "OpClusterRackTests",
      dependencies: [
        "OpClusterRack", "OpClusterScheduling", "OpClusterExecution", "OpClusterModel",
      ]),
    .testTarget(
      name: "OpClusterHTTPTests", dependencies: ["OpClusterHTTP", "RealCluster"]),
    .testTarget(
      name: "OpClusterDashboardTests",
      dependencies: [
        "OpClusterDashboard", "OpClusterHTTP", "OpClusterPresentation", "OpClusterModel",
      ]),
    .testTarget(
      name: "OpClusterMetricsTests",
      dependencies: ["OpClusterMetrics", "OpClusterHTTP", "OpClusterSystem", "RealCluster"]),
    .testTarget(name: "OpClusterOneLinersTests", dependencies: ["OpClusterOneLiners"]),
    .testTarget(name: "OpClusterSystemTests", dependencies: ["OpClusterSystem", "CSystem"]),
    .testTarget(
      name: "OpClusterZeroMQTests",
      dependencies: ["OpClusterZeroMQ", "OpClusterSystem", "CZeroMQ"]),
    // A way between two sockets that ends in the middle of a message.
    .target(
      name: "StoppingRelay", dependencies: ["OpClusterSystem", "OpClusterZeroMQ"],
      path: "Tests/StoppingRelay"),
    // Messages by chance, and what becomes of them on a bad way; hostile traffic from a seed.
    .target(
      name: "MessageGenerators", dependencies: ["OpClusterModel"],
      path: "Tests/MessageGenerators"),
    .target(
      name: "FuzzWorld",
      dependencies: [
        "MessageGenerators", "OpClusterScheduling", "OpClusterExecution", "OpClusterClient",
        "OpClusterPresentation", "OpClusterWire", "OpClusterModel",
      ], path: "Tests/FuzzWorld"),
    .executableTarget(
      name: "FuzzRunner", dependencies: ["FuzzWorld", arguments], path: "Tests/FuzzRunner"),
    .testTarget(
      name: "OpClusterStoreTests",
      dependencies: ["OpClusterStore", "OpClusterFolders", "OpClusterModel"]),
    .testTarget(
      name: "OpClusterTransferTests",
      dependencies: [
        "StoppingRelay",
        "OpClusterTransfer", "OpClusterStore", "OpClusterWire", "OpClusterZeroMQ",
        "OpClusterSystem", "OpClusterModel", logging,
      ]),
    .testTarget(name: "OpClusterFoldersTests", dependencies: ["OpClusterFolders"]),
    .testTarget(
      name: "OpClusterKeysTests",
      dependencies: [
        "OpClusterFolders", "OpClusterKeys", "OpClusterWire", "OpClusterZeroMQ", "OpClusterModel",
      ]),
    .testTarget(
      name: "OpClusterWireTests",
      dependencies: [
        "MessageGenerators", "FuzzWorld", "OpClusterWire", "OpClusterPresentation",
        "OpClusterModel", protobuf,
      ]),
    .testTarget(name: "OpClusterJournalTests", dependencies: ["OpClusterJournal", "CSQLite"]),
    .testTarget(
      name: "OpClusterProcessesTests",
      dependencies: [
        "OpClusterProcesses", "CProcess", "ProcessStandIn", "OpClusterManifest",
        "OpClusterAttempts",
        "OpClusterModel",
      ]),
    .testTarget(
      name: "OpClusterAllocationTests", dependencies: ["OpClusterAllocation", "OpClusterModel"]),
    .testTarget(
      name: "OpClusterManifestTests", dependencies: ["OpClusterManifest", "OpClusterModel"],
      exclude: ["Fixtures", "Expected"]),
    .testTarget(
      name: "OpClusterImportsTests",
      dependencies: ["OpClusterImports", "OpClusterManifest", "OpClusterModel"]),
    .testTarget(
      name: "OpClusterPresentationTests",
      dependencies: ["MessageGenerators", "OpClusterPresentation", "OpClusterModel"]),
    .executableTarget(
      name: "WorkerStandIn", dependencies: ["OpClusterServing", logging],
      path: "Tests/WorkerStandIn"),
    .executableTarget(
      name: "InterpreterStandIn",
      dependencies: [
        "OpClusterDaemon", "OpClusterOperations", "OpClusterProcesses", "OpClusterSystem",
        "OpClusterWire", "OpClusterModel",
      ],
      path: "Tests/InterpreterStandIn"),
    .testTarget(
      name: "OpClusterOperationsTests",
      dependencies: ["OpClusterOperations", "OpClusterWire", "OpClusterModel", logging]),
    .testTarget(
      name: "OpClusterAttemptsTests",
      dependencies: [
        "OpClusterAttempts", "OpClusterOperations", "OpClusterProcesses", "OpClusterSystem",
        "OpClusterWire", "OpClusterModel", logging,
      ]),
    .testTarget(
      name: "OpClusterWorkerTests",
      dependencies: [
        "InterpreterStandIn", "WorkerStandIn", "opworker", "OpClusterServing",
        "OpClusterAttempts", "OpClusterWorker",
        "OpClusterOperations",
        "OpClusterKeys",
        "OpClusterExecution", "OpClusterWire", "OpClusterSystem", "OpClusterZeroMQ",
        "OpClusterProcesses",
        "OpClusterModel",
      ],
      exclude: ["Interpreters"]),
    // What the documentation shows, compiled and run.
    .executableTarget(
      name: "DocumentationWorker", dependencies: ["OpClusterServing"],
      path: "Tests/DocumentationWorker"),
    .testTarget(
      name: "OpClusterDocumentationTests",
      dependencies: [
        "DocumentationWorker", "OpCluster", "OpClusterOperations", "OpClusterClient",
        "OpClusterManifest", "OpClusterModel",
      ]),
    // One import is enough for a file of operation types, and one for a worker.
    .testTarget(
      name: "OperationsAloneTests", dependencies: ["OpClusterOperations"],
      path: "Tests/OneImport/Operations"),
    .testTarget(
      name: "ServingAloneTests", dependencies: ["OpClusterServing"],
      path: "Tests/OneImport/Serving"),
    // Foundation's own queue, which needs nothing of ours.
    .testTarget(name: "FoundationCasesTests"),
    .testTarget(
      name: "OpClusterCoordinatorTests",
      dependencies: [
        "OpClusterFolders", "OpClusterKeys", "OpClusterCoordinator", "OpClusterMetrics",
        "OpClusterHTTP", "OpClusterScheduling", "OpClusterQueries", "OpClusterWire",
        "OpClusterSystem",
        "OpClusterZeroMQ",
        "OpClusterJournal",
        "OpClusterPresentation", "OpClusterModel", "OpClusterClient",
        "MessageGenerators",
        "RealCluster", "CostWorld", "StoppingRelay",
      ]),
    .testTarget(
      name: "OpClusterDaemonTests",
      dependencies: ["OpClusterDaemon", "OpClusterModel", logging]),
    // Runs an operation in its own process, and links nothing else.
    .executableTarget(
      name: "LocalProgram",
      dependencies: ["OpClusterLocal", "OpClusterOperations", "OpClusterModel"],
      path: "Tests/LocalProgram"),
    .testTarget(
      name: "OpClusterLocalTests",
      dependencies: [
        "LocalProgram", "RealCluster", "OpClusterLocal", "OpClusterOperations",
        "OpClusterScheduling", "OpClusterWire", "OpClusterModel",
      ]),
    .testTarget(
      name: "OpClusterSimulationTests",
      dependencies: [
        "OpClusterSimulation", "OpClusterScheduling", "OpClusterExecution", "OpClusterModel",
        "RealCluster", "opsim",
      ],
      exclude: ["Regressions"]),
    .target(
      name: "RealCluster", dependencies: ["OpClusterClient", "OpClusterModel"],
      path: "Tests/RealCluster"),
    // Guarantees under faults: what operations do, the rows, a selection as tests.
    .executableTarget(name: "FaultOperation", path: "Tests/Faults/Operation"),
    .executableTarget(
      name: "FaultRows",
      dependencies: [
        "RealCluster", "FaultOperation", "MessageGenerators", "opcoord", "opworker", "opbatch",
        "opexampleworker",
        "OpClusterClient", "OpClusterKeys", "OpClusterWire", "OpClusterSystem", "OpClusterZeroMQ",
        "CZeroMQ",
        "OpClusterModel", arguments,
      ],
      path: "Tests/Faults/Rows"),
    .testTarget(
      name: "FaultRowsTests", dependencies: ["FaultRows", "RealCluster"],
      path: "Tests/Faults/Tests"),
    .target(
      name: "ConformanceOperations",
      dependencies: ["OpCluster", "OpClusterOperations", "OpClusterModel"],
      path: "Tests/ConformanceOperations"),
    .executableTarget(
      name: "ConformanceWorker", dependencies: ["ConformanceOperations", "OpClusterServing"],
      path: "Tests/ConformanceWorker"),
    .executableTarget(
      name: "ConformanceClient",
      dependencies: [
        "ConformanceOperations", "OpCluster", "OpClusterOperations", "OpClusterModel",
      ],
      path: "Tests/ConformanceClient"),
    .executableTarget(
      name: "LibraryProgram", dependencies: ["OpCluster"], path: "Tests/LibraryProgram"),
    .testTarget(
      name: "OpClusterConformanceTests",
      dependencies: [
        "RealCluster", "ConformanceOperations", "ConformanceWorker", "ConformanceClient", "opcoord",
        "LibraryProgram", "MessageGenerators",
        "OpCluster", "OpClusterOperations", "OpClusterClient", "OpClusterPresentation",
        "OpClusterModel",
      ]),
    .testTarget(
      name: "OpClusterTests",
      dependencies: [
        "RealCluster", "ScenarioBody", "StoppingRelay", "OpClusterClient", "OpClusterManifest",
        "OpClusterWire", "OpClusterModel", "OpClusterProcesses", "OpClusterZeroMQ", "opcoord",
        "opworker", "oprelay", "opbatch", "opweb",
      ]),
    .testTarget(
      name: "OpbatchTests",
      dependencies: [
        "opbatch", "OpClusterAllocation", "OpClusterFolders", "OpClusterReading",
        "OpClusterClient", "OpClusterManifest",
        "OpClusterPresentation", "OpClusterWire", "OpClusterModel", arguments,
      ]),
    .testTarget(
      name: "OpClusterExamplesTests",
      dependencies: [
        "RealCluster", "OpClusterExamples", "ExampleMaterials", "opexamples", "opexampleworker",
        "opcoord", "opbatch", "OpCluster", "OpClusterClient", "OpClusterModel",
      ]),
    // Objects of the library between two messages.
    .testTarget(
      name: "OpClusterObjectTests",
      dependencies: [
        "OpCluster", "OpClusterLocal", "OpClusterOperations", "OpClusterClient", "OpClusterModel",
      ]),
    .testTarget(
      name: "OpClusterClientTests",
      dependencies: [
        "OpCluster", "OpClusterClient", "OpClusterWire", "OpClusterSystem", "OpClusterZeroMQ",
        "OpClusterModel",
      ],
      exclude: ["Programs"]),
  ],
  swiftLanguageModes: [.v6],
  cLanguageStandard: .gnu17
)

/// Deliberate bugs and counters for `opsim mutants` and `opsim coverage`: set by `deploy/mutants`
/// alone, for a copy of this package to which it has added the bugs.
let hasMutants = Context.environment["OPCLUSTER_MUTANTS"] == "1"

/// What the tests compute most with; `deploy/test` alone has it optimised, so that they take half
/// the time.
let areTestsFast = Context.environment["OPCLUSTER_FAST_TESTS"] == "1"
let computing: Set = [
  "OpClusterModel", "OpClusterScheduling", "OpClusterExecution", "OpClusterSimulation",
  "OpClusterWire", "OpClusterCoordinator", "OpClusterQueries",
]

for target in package.targets where target.type != .system {
  target.swiftSettings = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
  ]
  if target.type == .test { target.dependencies.append("Citations") }
  if areTestsFast, computing.contains(target.name) {
    target.swiftSettings?.append(.unsafeFlags(["-O"]))
  }
  if hasMutants { target.swiftSettings?.append(.define("MUTANTS")) }
}

/// `deploy/demo` alone sets it: the three commands of a cluster and what they are made of, so that
/// one build makes them side by side, and no test or example is built with them.
if Context.environment["OPCLUSTER_COMMANDS"] == "1" {
  let commands: Set = ["opcoord", "opworker", "opbatch"]
  package.products.removeAll { !commands.contains($0.name) }
  var needed = commands
  var pending = Array(commands)
  while let name = pending.popLast() {
    for dependency in package.targets.first(where: { $0.name == name })?.dependencies ?? [] {
      guard case .byNameItem(let below, _) = dependency, needed.insert(below).inserted else {
        continue
      }
      pending.append(below)
    }
  }
  package.targets.removeAll { !needed.contains($0.name) }
}
