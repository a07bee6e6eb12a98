// What the commands of a submit description mean here. Pure but for the remarks.

import OpClusterModel

/// A job with its macros expanded; texts may hold values of `RuntimeValue`.
struct SubmitJob {
  var words: [String] = []
  var folder = ""
  var environment: [String: String] = [:]
  var inherited: [String] = []
  var input: String?
  var output: String?
  var error: String?
  var cpus: Double?
  var memoryBytes: Int?
  var gpus: Double?
  var priority: Int?
  var retries = 0
  var successCode: Int?
  var timeoutSeconds: Double?
  var stopSignal: String?
  var maximumParallel: Int?
  var isNoop = false
}

struct SubmitMeaning {
  let file: SubmitFile
  var scope: SubmitScope
  let session: ImportSession
  /// Relative names start here.
  let folder: String
  /// Remarks are made for the first element of a file alone.
  var remarks = true

  /// Says nothing about the job, and is of no use here.
  private static let pointless: Set = [
    "log", "log_xml", "userlog", "notification", "notify_user", "email_attributes", "universe",
    "should_transfer_files", "when_to_transfer_output", "transfer_executable", "transfer_output",
    "transfer_error", "transfer_input", "stream_output", "stream_error", "stream_input",
    "batch_name", "jobbatchname", "description", "accounting_group", "accounting_group_user",
    "nice_user", "dagman_log", "submit_event_notes", "dag_node_name", "copy_to_spool",
    "leave_in_queue", "max_idle", "skip_filechecks", "allow_startup_script",
    "preserve_relative_paths",
    "run_as_owner", "load_profile", "want_graceful_removal", "job_lease_duration",
  ]
  /// Decides something that is not decided here.
  private static let unmapped: Set = [
    "requirements", "rank", "request_disk", "hold", "periodic_hold", "periodic_release",
    "periodic_remove", "periodic_vacate", "on_exit_hold", "on_exit_remove", "concurrency_limits",
    "transfer_output_files", "transfer_output_remaps", "transfer_plugins", "output_destination",
    "deferral_time", "deferral_window", "deferral_prep_time", "cron_minute", "cron_hour",
    "require_gpus", "gpus_minimum_memory", "gpus_minimum_capability", "coresize",
    "next_job_start_delay",
    "keep_claim_idle", "job_max_vacate_time", "remove_kill_sig", "hold_kill_sig", "retry_until",
    "use_oauth_services", "max_transfer_input_mb", "max_transfer_output_mb", "encrypt_input_files",
    "encrypt_output_files", "encrypt_execute_directory", "checkpoint_exit_code",
    "transfer_checkpoint_files", "image_size", "job_machine_attrs", "append_files", "x509userproxy",
    "use_x509userproxy", "environment2", "stack_size", "ulog_execute_attrs", "arguments2",
  ]

  private func value(_ names: String...) throws(ImportStop) -> (text: String, place: SourcePlace)? {
    for name in names {
      guard let value = scope.values[name] else { continue }
      var inner = scope
      inner.place = value.place
      let text = try inner.expand(value.text)
      if text.trimmed.isEmpty { return nil }
      return (text.trimmed, value.place)
    }
    return nil
  }

  func job() throws(ImportStop) -> SubmitJob {
    var job = SubmitJob()
    try refuseForeignUniverses()
    job.folder = folder
    if let place = try value("initialdir", "initial_dir", "job_iwd", "remote_initialdir") {
      job.folder = path(place.text, in: folder)
    }
    job.isNoop = try value("noop_job")?.text.lowercased() == "true"
    // HTCondor looks for the program from where it is submitted, whatever the job's folder is.
    if let program = try value("executable", "cmd", "shell") {
      if scope.values["executable"] == nil, scope.values["shell"] != nil {
        job.words = ["/bin/sh", "-c", program.text]
      } else {
        job.words = [path(program.text, in: folder)]
      }
    } else if !job.isNoop {
      throw session.stop(SourcePlace(scope.place.file, 0), "has no 'executable'")
    }
    if let arguments = try value("arguments", "arguments2", "args") {
      guard let words = SubmitWords.arguments(arguments.text) else {
        throw session.stop(arguments.place, "quotes of the arguments are not closed")
      }
      job.words += words
    }
    try environment(&job)
    let stream: (String?) -> String? = { $0 == "/dev/null" ? nil : $0 }
    job.input = stream(try value("input", "stdin", "in")?.text).map { path($0, in: job.folder) }
    job.output = stream(try value("output", "stdout", "out")?.text).map { path($0, in: job.folder) }
    job.error = stream(try value("error", "stderr", "err")?.text).map { path($0, in: job.folder) }
    try amounts(&job)
    if remarks { try sayTheRest() }
    return job
  }

  private func refuseForeignUniverses() throws(ImportStop) {
    if let universe = try value("universe"),
      !["vanilla", "local", "scheduler", "standard"].contains(universe.text.lowercased())
    {
      throw session.stop(
        universe.place, "the universe '\(universe.text)' is not here: only plain commands are")
    }
    for name in ["docker_image", "container_image", "grid_resource", "vm_type"] {
      if let value = try value(name) {
        throw session.stop(value.place, "'\(name)': the command would run without its container")
      }
    }
  }

  private func environment(_ job: inout SubmitJob) throws(ImportStop) {
    if let text = try value("environment", "env") {
      guard let pairs = SubmitWords.environment(text.text) else {
        throw session.stop(text.place, "the environment is not understood")
      }
      for (name, value) in pairs { job.environment[name] = value }
    }
    guard let names = try value("getenv") else { return }
    switch names.text.lowercased() {
    case "false": break
    case "true":
      if remarks {
        session.lost(
          names.place, "getenv: only PATH is taken from your environment; name others by --inherit")
      }
      job.inherited = ["PATH"]
    default:
      let parts = names.text.split(whereSeparator: { $0 == "," || $0 == " " || $0 == ";" })
      for part in parts {
        if isVariableName(part) {
          job.inherited.append(String(part))
        } else if remarks {
          session.lost(names.place, "getenv: the pattern '\(part)' is not read")
        }
      }
    }
  }

  private func amounts(_ job: inout SubmitJob) throws(ImportStop) {
    if let text = try value("request_cpus") { job.cpus = try number(text, "request_cpus") }
    if let text = try value("request_gpus") { job.gpus = try number(text, "request_gpus") }
    if let text = try value("request_memory") {
      job.memoryBytes = Self.megabytes(text.text)
      if job.memoryBytes == nil, remarks {
        session.lost(text.place, "request_memory: '\(text.text)' is no size")
      }
    }
    if let text = try value("priority", "prio") {
      job.priority = try number(text, "priority").map { Int(saturating: $0) }
    }
    if let text = try value("max_retries") {
      job.retries = try number(text, "max_retries").map { max(0, Int(saturating: $0)) } ?? 0
    }
    if let text = try value("success_exit_code") {
      job.successCode = try number(text, "success_exit_code").map { Int(saturating: $0) }
    }
    if let text = try value("allowed_execute_duration", "allowed_job_duration") {
      job.timeoutSeconds = try number(text, "allowed_execute_duration")
    }
    if let text = try value("max_materialize") {
      job.maximumParallel = try number(text, "max_materialize").map { Int(saturating: $0) }
    }
    if let signal = try value("kill_sig") {
      let name = signal.text.hasPrefix("SIG") ? String(signal.text.dropFirst(3)) : signal.text
      if name.utf8.allSatisfy(isLetter) {
        job.stopSignal = name.uppercased()
      } else if remarks {
        session.lost(signal.place, "kill_sig: write the name of the signal")
      }
    }
  }

  /// An expression is no number: it is told and left out.
  private func number(
    _ value: (text: String, place: SourcePlace), _ name: String
  ) throws(ImportStop) -> Double? {
    if let number = Double(value.text), number.isFinite { return number }
    if remarks { session.lost(value.place, "\(name): '\(value.text)' is no number") }
    return nil
  }

  /// A size in bytes; without a unit in MiB.
  static func megabytes(_ text: String) -> Int? {
    let digits = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
    guard let number = Double(digits), number.isFinite else { return nil }
    let unit = text.dropFirst(digits.count).trimmed.uppercased()
    let factors: [String: Double] = [
      "": 0x1p20, "K": 0x1p10, "M": 0x1p20, "G": 0x1p30, "T": 0x1p40,
    ]
    let letter =
      unit.hasSuffix("IB") ? unit.dropLast(2) : unit.hasSuffix("B") ? unit.dropLast() : unit[...]
    guard let factor = factors[String(letter)] else { return nil }
    return Int(saturating: number * factor)
  }

  /// Commands that were not used above. What no table has is a macro, if something names it.
  private func sayTheRest() throws(ImportStop) {
    let used: Set = [
      "initialdir", "initial_dir", "job_iwd", "remote_initialdir", "executable", "cmd", "shell",
      "arguments", "args", "environment", "env", "getenv", "input", "stdin", "in", "output",
      "stdout", "out", "error", "stderr", "err", "request_cpus", "request_gpus", "request_memory",
      "priority", "prio", "max_retries", "success_exit_code", "allowed_execute_duration",
      "allowed_job_duration", "max_materialize", "kill_sig", "noop_job", "docker_image",
      "container_image", "grid_resource", "vm_type",
    ]
    let named = file.namedMacros
    for name in file.order where !used.contains(name) {
      guard let value = file.values[name] else { continue }
      if name == "transfer_input_files" {
        try sayTransfers(value)
      } else if Self.pointless.contains(name) {
        session.note(value.place, "\(name): nothing here reads it")
      } else if Self.unmapped.contains(name) || name.hasPrefix("+") || name.hasPrefix("my.") {
        session.lost(value.place, "\(name) is not read")
      } else if !named.contains(name) {
        session.lost(
          value.place,
          "\(name) is no command that is known here, and no macro that something names")
      }
    }
  }

  private func sayTransfers(_ value: SubmitFile.Value) throws(ImportStop) {
    var inner = scope
    inner.place = value.place
    let names = try inner.expand(value.text).split { $0 == "," }.map { $0.trimmed }
    let moved = names.filter { $0.contains("/") }
    if let first = moved.first {
      session.lost(
        value.place,
        "transfer_input_files: a job runs in its folder, where '\(first)' is not laid beside it")
    } else {
      session.note(value.place, "transfer_input_files: jobs run in their folder, on a shared disk")
    }
  }
}
