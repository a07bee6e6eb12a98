// `opbatch completion`: a script for the shell, made from the command tree itself.

import ArgumentParser

struct Completion: Command {
  static let configuration = CommandConfiguration(
    abstract: "Print a completion script for a shell.",
    discussion: """
      bash:  opbatch completion bash > ~/.local/share/bash-completion/completions/opbatch
      zsh:   opbatch completion zsh > "${fpath[1]}/_opbatch"
      fish:  opbatch completion fish > ~/.config/fish/completions/opbatch.fish
      """)

  enum Shell: String, CaseIterable, ExpressibleByArgument {
    case bash, zsh, fish
  }

  @Argument(help: "The shell.") var shell: Shell
  @OptionGroup(title: "Common options") var global: GlobalOptions

  func perform(_ console: Console) async throws -> ExitStatus {
    let kind: CompletionShell =
      switch shell {
      case .bash: .bash
      case .zsh: .zsh
      case .fish: .fish
      }
    try console.write(Opbatch.completionScript(for: kind) + "\n")
    return .success
  }
}
