// The settings of clients among those of a configuration file. Reads small files; any thread.

import OpClusterKeys

enum ClientConfiguration {
  /// By their keys; nil when there is no such file.
  static func read(_ path: String) throws(ClientError) -> [String: String]? {
    do throws(ConfigurationError) {
      return try ConfigurationFile.read(path, keys: ConfigurationFile.clientKeys)
    } catch {
      throw ClientError(.badConfiguration, error.message, hint: error.hint)
    }
  }
}
