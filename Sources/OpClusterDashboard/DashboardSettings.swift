// How a dashboard is served.

public import OpClusterHTTP

public struct DashboardSettings: Sendable {
  public var address: HTTPAddress
  /// What the link carries; a new one for each start unless it is kept in a file.
  public var token: String
  /// Whether those who may look know the token already, so that the link need not tell it.
  public var isTokenKnown: Bool
  /// PEM; nil: without TLS.
  public var certificate: (chain: String, key: String)?
  /// Whether a server before it speaks TLS to those who look.
  public var isBehindProxy: Bool
  /// Shows no forms, whatever the key may do.
  public var isReadOnly: Bool

  public init(
    address: HTTPAddress, token: String? = nil, certificate: (chain: String, key: String)? = nil,
    isBehindProxy: Bool = false, isReadOnly: Bool = false
  ) {
    self.address = address
    self.token = token ?? Sessions.randomToken()
    isTokenKnown = token != nil
    self.certificate = certificate
    self.isBehindProxy = isBehindProxy
    self.isReadOnly = isReadOnly
  }

  /// Why it must not be served like this; nil: it may.
  public var objection: String? {
    guard !address.isLoopback, certificate == nil, !isBehindProxy else { return nil }
    return "others on the network could read the token and all pages on their way to \(address); "
      + "give a certificate (--certificate, --certificate-key), say --behind-proxy if a server "
      + "before it speaks TLS, or serve on 127.0.0.1 and use 'ssh -L'"
  }
}
