// The resources that a worker offers, by its flags, and the command that prints them. Run once, on
// the main thread.
// Values come from flags, then from variables, then from files (`WorkerSettings`); what nobody says
// is taken from the machine.

import ArgumentParser
import Glibc
import OpClusterDaemon
import OpClusterKeys
import OpClusterModel
import OpClusterWorker

/// The flags of a worker's resources; shared by both commands.
/// A worker counts what it offers and does not measure it: an operation that asks for one cpu may
/// use four.
struct Offer: ParsableArguments {
  @Option(help: "Processors to offer: a number, or auto. [OPWORKER_CPUS]")
  var cpus: String?
  @Option(help: "Memory to offer: bytes, 500M, 16G, or a percentage. [OPWORKER_MEMORY]")
  var memory: String?
  @Option(
    help: """
      Gpus to offer: a number, their indices (0,2,3), auto, or unmanaged: operations see all of \
      them and can ask for none. [OPWORKER_GPUS]
      """)
  var gpus: String?
  @Option(
    name: .customLong("resource"),
    help: "Another resource, NAME=N; may be repeated. [OPWORKER_RESOURCE]")
  var resources: [String] = []

  /// The names of the gpus for operations; nil if operations are not assigned any.
  /// With `unmanaged` nothing is assigned, and operations see all gpus of the machine.
  func gpuNames(_ settings: WorkerSettings) throws(ValidationError) -> [String]? {
    let text = settings.text(.gpus, flag: gpus) ?? "auto"
    guard let setting = GPUSetting(text) else {
      throw ValidationError("--gpus: '\(text)' is not \(GPUSetting.forms)")
    }
    return setting.names(found: MachineResources.gpus)
  }

  /// The hello tells the coordinator this. Throws for a value that cannot be read, or a resource
  /// that is named twice.
  func capacity(_ settings: WorkerSettings) throws(ValidationError) -> Resources {
    var offered = MachineResources.capacity
    if let text = settings.text(.cpus, flag: cpus), text != "auto" {
      offered.cpus = try Quantity.amount(text, of: "--cpus")
    }
    if let text = settings.text(.memory, flag: memory) {
      offered.memoryBytes = try Quantity.bytes(text, of: MachineResources.memoryBytes)
    }
    // Whole gpus: operations may ask for parts of one, workers offer none.
    offered.gpus = ResourceAmount(Int64(try gpuNames(settings)?.count ?? 0))
    var custom: [Resources.NamedAmount] = []
    for text in settings.list(.resource, flags: resources) {
      let (name, value) = try Quantity.pair(text, of: "--resource")
      if custom.contains(where: { $0.name == name }) {
        throw ValidationError("--resource \(name) is given twice")
      }
      custom.append(
        Resources.NamedAmount(name: name, amount: try Quantity.amount(value, of: "--resource")))
    }
    return Resources(
      cpus: offered.cpus, memoryBytes: offered.memoryBytes, gpus: offered.gpus, custom: custom)
  }
}

/// Prints the same that `serve` would offer with the same flags, and connects to nobody.
struct ShowResources<Program: WorkerProgram>: ParsableCommand {
  static var configuration: CommandConfiguration {
    CommandConfiguration(
      commandName: "resources", abstract: "Print what a worker on this machine would offer.")
  }

  @OptionGroup var offer: Offer

  func run() throws {
    let settings: WorkerSettings
    do throws(ConfigurationError) {
      settings = try WorkerSettings()
    } catch {
      StandardStream.error.write("\(Program.name): \(error.description)")
      Glibc.exit(error.status)
    }
    StandardStream.output.write(try offer.capacity(settings).summary)
    for gpu in try offer.gpuNames(settings) ?? [] { StandardStream.output.write("gpu \(gpu)") }
    for label in MachineResources.labels {
      StandardStream.output.write("label \(label.key)=\(label.value)")
    }
  }
}
