// Reads the settings of clients from a configuration file. Reads small files; any thread.

import OpClusterKeys
import OpClusterModel

enum ClientConfiguration {
  /// Returns the settings by their keys; nil if the file does not exist.
  static func read(_ path: String) throws(ClientError) -> [String: String]? {
    do throws(ConfigurationError) {
      return try ConfigurationFile.read(path, keys: ConfigurationFile.clientKeys)
    } catch {
      throw ClientError(.badConfiguration, error.message, hint: .text(error.hint))
    }
  }
}
