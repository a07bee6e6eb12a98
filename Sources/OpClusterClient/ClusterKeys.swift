// The keys that a program connects with over TCP: from a folder that somebody named, or the usual
// one; and how a program gets them by an invitation. Reads small files; any thread.

public import OpClusterKeys
import OpClusterModel
import OpClusterZeroMQ

/// Who a program is to a coordinator.
public struct ClusterKeys: Sendable {
  /// What the coordinator calls us, as far as we know.
  let name: String
  let socketKeys: SocketKeys

  init(name: String, socketKeys: SocketKeys) {
    self.name = name
    self.socketKeys = socketKeys
  }

  /// The variable of the environment that names the folder.
  public static let variable = "OPBATCH_KEYS"

  /// The folder: named by somebody, else by the environment, else by a configuration file, else
  /// `$XDG_CONFIG_HOME/opcluster/keys`.
  ///
  /// - Throws: `.badConfiguration` when a configuration file cannot be understood.
  public static func folder(_ named: String? = nil) throws(ClientError) -> KeyFolder {
    if let path = named ?? ClusterFolder.variable(variable) { return KeyFolder(path) }
    for path in ConfigurationFile.paths {
      if let folder = try ClientConfiguration.read(path)?["keys"] { return KeyFolder(folder) }
    }
    return .standard
  }

  /// - Throws: `.badConfiguration` when there is no key, or its file is open to others (G39).
  static func read(_ named: String?) throws(ClientError) -> ClusterKeys {
    let folder = try folder(named)
    do throws(KeyError) {
      let (name, keys) = try folder.clientKeys()
      return ClusterKeys(name: name, socketKeys: keys)
    } catch {
      throw ClientError(error)
    }
  }

  /// Makes a key of our own, has it added by an invitation, and keeps it.
  ///
  /// - Parameters:
  ///   - name: What it is to be called, unless the invitation says so.
  ///   - bearer: Who is going to use it.
  /// - Throws: `.keyRefused` for an invitation that was used or has expired, `.badConfiguration`
  ///   for a folder that holds a key already, and what `connect` throws.
  public static func join(
    _ token: JoinToken, name: String, in folder: KeyFolder, for bearer: KeyFolder.Bearer = .client,
    coordinator: String? = nil
  ) async throws(ClientError) -> OwnKey {
    // Before the invitation is used up.
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
    // Where a worker has joined is no address of clients, and it is told its own at each start.
    let joinedAt = bearer == .client ? coordinator : nil
    own.coordinator = role == .worker ? nil : joinedAt ?? token.clientAddress
    do throws(KeyError) { try folder.keep(own, for: bearer) } catch { throw ClientError(error) }
    return own
  }
}

extension ClientError {
  /// What is wrong with keys at rest.
  public init(_ error: KeyError) {
    self.init(.badConfiguration, error.message, hint: error.hint)
  }
}
