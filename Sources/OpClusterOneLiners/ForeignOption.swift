// Options of GNU parallel that mean nothing on a cluster, and what to write instead. Pure.

package enum ForeignOption {
  /// What to write instead of an option that is not known here; nil: it is none of parallel's.
  ///
  /// - Parameter word: As typed, such as `--pipe` or `--block=1M`.
  package static func advice(for word: String) -> String? {
    let name = word.prefix { $0 != "=" }
    if name.hasPrefix("-"), !name.hasPrefix("--"), let letter = name.dropFirst().first {
      return advice["-\(letter)"]
    }
    return advice[String(name)]
  }

  private static let machines =
    "workers run on the machines, and take what comes: opworker serve on each, then -j"
  private static let files =
    "a folder that all machines share needs nothing; without one write a manifest with inputs and "
    + "outputs, or submit --upload"
  private static let pipes =
    "split the input into files first: split -l 1000 input part-; then opbatch map CMD '<' {} "
    + "::: part-*"
  private static let queues =
    "a queue has a limit that counts over all submitters: opbatch queue create NAME "
    + "--max-concurrent 1; then --queue NAME"
  private static let expressions =
    "the usual ones are {} {.} {/} {//} {/.} {#} {%} {1} {2/}; for more let the shell do it: "
    + "'x={}; echo ${x%.gz}'"
  private static let loads =
    "a worker starts what fits its processors and memory: --cpus and --memory say what a job needs"
  private static let screens = "opbatch top shows what runs, opbatch logs -f follows it"
  private static let nothing = "leave it out"

  private static let advice: [String: String] = [
    "-S": machines, "--sshlogin": machines, "--sshloginfile": machines, "--slf": machines,
    "--onall": machines, "--nonall": machines, "--ssh": machines, "--controlmaster": machines,
    "--filter-hosts": machines, "--hostgroups": "workers have labels: --require KEY=VALUE",
    "--hgrp": "workers have labels: --require KEY=VALUE",
    "--transfer": files, "--transferfile": files, "--tf": files, "--return": files,
    "--cleanup": nothing, "--trc": files, "--basefile": files, "--bf": files,
    "--pipe": pipes, "--pipepart": pipes, "--pipe-part": pipes, "--spreadstdin": pipes,
    "--block": pipes, "--recstart": pipes, "--recend": pipes, "--round-robin": pipes,
    "--cat": pipes, "--fifo": pipes, "--tee": pipes, "--shard": pipes, "--bin": pipes,
    "--group-by": pipes, "--regexp": pipes,
    "--semaphore": queues, "--sem": queues, "--id": queues, "--semaphoretimeout": queues,
    "--st": queues, "--fg": queues, "--bg": "opbatch submit -- CMD does not wait",
    "--rpl": expressions, "--plus": expressions, "--parens": expressions,
    "-U": expressions, "--basenamereplace": expressions, "--dirnamereplace": expressions,
    "--seqreplace": expressions, "--slotreplace": expressions, "--extensionreplace": expressions,
    "--load": loads, "--noswap": loads, "--memfree": loads, "--memsuspend": loads,
    "--limit": loads, "--use-cpus-instead-of-cores": loads, "--use-cores-instead-of-threads": loads,
    "--nice": "write it before the command: nice -n 10 CMD",
    "--tmux": screens, "--tmuxpane": screens, "--fifo-tmux": screens,
    "--files": "--results DIR keeps the outputs in files, and their names are known",
    "--sqlmaster": "--joblog FILE has the same columns", "--sqlworker": "--joblog FILE",
    "--sqlandworker": "--joblog FILE", "--sql": "--joblog FILE",
    "--retry-failed": "--resume-failed with the same command, input and --joblog",
    "--shuf": "shuffle the input: shuf FILE | opbatch map …",
    "--interactive": nothing, "-p": nothing, "--open-tty": nothing, "-o": nothing, "--tty": nothing,
    "--profile": "a shell function or alias holds options", "-J": "a shell function holds options",
    "--shebang": "write a script that calls opbatch map", "--hashbang": "write a script",
    "--session": nothing, "--record-env": "name the variables: --env NAME",
    "--workdir-tmp": "--wd ...", "--tmpdir": nothing, "--compress": nothing,
    "--termseq": "--halt now stops with TERM, and KILL after the worker's grace",
    "--xapply": "--link", "--max-line-length-allowed": nothing, "--number-of-cores": loads,
    "--number-of-cpus": loads, "--embed": nothing, "--citation": nothing,
    "--shellquote": "printf '%q ' … in bash",
    "--template": "write the file in the command: envsubst < template", "--color-failed": nothing,
  ]
}
