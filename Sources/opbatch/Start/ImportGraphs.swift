// The imports of graphs, one command a format. Each says what it reads; the rest is `GraphImport`.

import ArgumentParser
import OpClusterImports

struct ImportDagman: GraphImport {
  static let configuration = CommandConfiguration(
    commandName: "dagman",
    abstract: "Turn a DAG of HTCondor's DAGMan into a graph.",
    usage: "opbatch import dagman <file> [--submit [--wait | --watch]] [<options>]",
    discussion: """
      Reads the DAG, its splices, SUBDAGs and submit files, and goes on from the newest rescue \
      file. Prints the manifest; what does not map is told on stderr with its file and line. \
      Relative names start from the folder where you are, as with condor_submit_dag.

      Examples:
        opbatch import dagman diamond.dag > diamond.yaml
        opbatch import dagman diamond.dag --submit --watch
      """)

  @Argument(
    help: ArgumentHelp("The DAG file.", valueName: "file"),
    completion: .file(extensions: ["dag"]))
  var file: String

  @Flag(help: "Relative names of the DAG file start from its own folder.")
  var usedagdir = false
  @Flag(help: "Do not look for rescue files.") var noRescue = false
  @OptionGroup(title: "Of an import") var options: ImportOptions
  @OptionGroup(title: "Common options") var global: GlobalOptions

  func read(_ files: SourceFiles, in folder: String) -> ImportResult {
    var importer = DagmanImport(folder: folder)
    importer.usesFoldersOfFiles = usedagdir
    importer.readsRescueFiles = !noRescue
    importer.inherited = options.inherit
    return importer.read(file, files)
  }
}

struct ImportNinja: GraphImport {
  static let configuration = CommandConfiguration(
    commandName: "ninja",
    abstract: "Turn a build.ninja, as CMake and Meson write it, into a graph.",
    usage: "opbatch import ninja <file> [<target> ...] [--submit [--wait | --watch]] [<options>]",
    discussion: """
      Takes what the targets need, by default those of the file. All of it runs, whatever is there \
      already, unless --outdated. Commands run in the folder of the file and see your PATH.

      Examples:
        opbatch import ninja build/build.ninja --submit --wait
        opbatch import ninja build/build.ninja tests --inherit PATH --inherit CCACHE_DIR
      """)

  @Argument(
    help: ArgumentHelp("The Ninja file; its folder is the build folder.", valueName: "file"),
    completion: .file(extensions: ["ninja"]))
  var file: String
  @Argument(help: ArgumentHelp("What to build.", valueName: "target"))
  var targets: [String] = []

  @Flag(help: "Leave out what is newer than all that it is made of.") var outdated = false
  @OptionGroup(title: "Of an import") var options: ImportOptions
  @OptionGroup(title: "Common options") var global: GlobalOptions

  func read(_ files: SourceFiles, in folder: String) -> ImportResult {
    var importer = NinjaImport(folder: folder)
    importer.targets = targets
    importer.onlyOutdated = outdated
    if !options.inherit.isEmpty { importer.inherited = options.inherit }
    return importer.read(file, files)
  }
}

struct ImportHyperQueue: GraphImport {
  static let configuration = CommandConfiguration(
    commandName: "hq",
    abstract: "Turn a job definition file of HyperQueue into a graph.",
    usage: "opbatch import hq <file> [--submit [--wait | --watch]] [<options>]",
    discussion: """
      Reads what 'hq job submit-file' reads. What commands write goes to the log unless the file \
      says otherwise.

      Example: opbatch import hq job.toml --submit --wait
      """)

  @Argument(
    help: ArgumentHelp("The job definition file.", valueName: "file"),
    completion: .file(extensions: ["toml"]))
  var file: String
  @OptionGroup(title: "Of an import") var options: ImportOptions
  @OptionGroup(title: "Common options") var global: GlobalOptions

  func read(_ files: SourceFiles, in folder: String) -> ImportResult {
    var importer = HyperQueueImport(folder: folder)
    importer.inherited = options.inherit
    return importer.read(file, files)
  }
}

struct ImportMakeflow: GraphImport {
  static let configuration = CommandConfiguration(
    commandName: "makeflow",
    abstract: "Turn a Makeflow file into a graph.",
    usage: "opbatch import makeflow <file> [--submit [--wait | --watch]] [<options>]",
    discussion: """
      Rules become operations, which run in the folder where you are and see your PATH. All of \
      them run, whatever is there already.

      Example: opbatch import makeflow blast.mf --submit --wait
      """)

  @Argument(
    help: ArgumentHelp("The Makeflow file.", valueName: "file"),
    completion: .file(extensions: ["mf", "makeflow"]))
  var file: String
  @OptionGroup(title: "Of an import") var options: ImportOptions
  @OptionGroup(title: "Common options") var global: GlobalOptions

  func read(_ files: SourceFiles, in folder: String) -> ImportResult {
    var importer = MakeflowImport(folder: folder)
    if !options.inherit.isEmpty { importer.inherited = options.inherit }
    return importer.read(file, files)
  }
}
