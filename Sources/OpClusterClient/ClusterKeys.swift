// The keys of a program for TCP: read from a named folder or the default one, or made with an
// invitation. Reads small files; any thread.

public import OpClusterKeys
import OpClusterModel
import OpClusterZeroMQ

/// The identity of a program towards a coordinator.
public struct ClusterKeys: Sendable {
  /// The coordinator's name for us, as far as we know.
  let name: String
  let socketKeys: SocketKeys

  init(name: String, socketKeys: SocketKeys) {
    self.name = name
    self.socketKeys = socketKeys
  }

  /// The environment variable that names the folder.
  public static let variable = "OPBATCH_KEYS"

  /// Returns the folder of the keys: `named`, else the environment's, else a configuration file's,
  /// else `$XDG_CONFIG_HOME/opcluster/keys`.
  ///
  /// - Throws: `.badConfiguration` if a configuration file cannot be understood.
  public static func folder(_ named: String? = nil) throws(ClientError) -> KeyFolder {
    if let path = named ?? ClusterFolder.variable(variable) { return KeyFolder(path) }
    for path in ConfigurationFile.paths {
      if let folder = try ClientConfiguration.read(path)?["keys"] { return KeyFolder(folder) }
    }
    return .standard
  }

  /// - Throws: `.badConfiguration` if there is no key, or others can read its file (G39).
  static func read(_ named: String?) throws(ClientError) -> ClusterKeys {
    let folder = try folder(named)
    do throws(KeyError) {
      let (name, keys) = try folder.clientKeys()
      return ClusterKeys(name: name, socketKeys: keys)
    } catch {
      throw ClientError(error)
    }
  }

  /// Makes a key, adds it to the coordinator with an invitation, and keeps it.
  ///
  /// - Parameters:
  ///   - name: The key's name, unless the invitation gives one.
  ///   - bearer: The future user of the key.
  /// - Throws: `.keyRefused` for a used or expired invitation, `.badConfiguration` for a folder
  ///   that holds a key already, and the errors of `connect`.
  public static func join(
    _ token: JoinToken, name: String, in folder: KeyFolder, for bearer: KeyFolder.Bearer = .client,
    coordinator: String? = nil
  ) async throws(ClientError) -> OwnKey {
    // Check before the invitation is used up.
    do throws(KeyError) { try folder.checkVacant(for: bearer) } catch { throw ClientError(error) }
    var own = OwnKey(name: name, server: token.server)
    let keys = ClusterKeys(
      name: "invitation", socketKeys: .client(token.pair, server: token.server))
    let connection: ClusterConnection
    do throws(ClientError) {
      connection = try await ClusterConnection.connect(to: token.clientAddress, keys: keys)
    } catch  where error.kind == .keyRefused {
      throw ClientError(
        .keyRefused, "this invitation was used before, or withdrawn",
        hint: "ask for a new one: opcoord key invite")
    }
    let request = ClientRequest.enrol(name: name, publicKey: own.pair.publicKey.bytes)
    let result: Result<ClientReply, ClientError>
    do throws(ClientError) {
      result = .success(try await connection.request(request, timeout: .seconds(10)))
    } catch {
      result = .failure(error)
    }
    await connection.close()
    guard case .enrolled(let given, let role) = try result.get() else {
      throw ClientError(.protocolViolation, "the coordinator gave an answer to another question")
    }
    own.name = given
    own.role = role
    // Workers join at an address that is not for clients, and get the clients' address at each
    // start.
    let joinedAt = bearer == .client ? coordinator : nil
    own.coordinator = role == .worker ? nil : joinedAt ?? token.clientAddress
    do throws(KeyError) { try folder.keep(own, for: bearer) } catch { throw ClientError(error) }
    return own
  }
}

extension ClientError {
  /// Converts an error of keys on the disk.
  public init(_ error: KeyError) {
    self.init(.badConfiguration, error.message, hint: .text(error.hint))
  }
}
