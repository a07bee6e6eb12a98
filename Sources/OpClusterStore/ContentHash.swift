// SHA-256 of bytes that come in pieces, by OpenSSL, which uses the processor's instructions for it.

import CCrypto
package import OpClusterModel

/// The digest of the bytes given so far. One thread at a time.
@safe package struct ContentHash: ~Copyable {
  private let context: OpaquePointer

  package init() {
    guard let context = unsafe EVP_MD_CTX_new() else {
      preconditionFailure("there is no memory for a digest")
    }
    unsafe self.context = context
    let code = unsafe EVP_DigestInit_ex(context, EVP_sha256(), nil)
    // Only a libcrypto without SHA-256 refuses it, and then no content can be named at all.
    precondition(code == 1, "this libcrypto has no SHA-256")
  }

  deinit { unsafe EVP_MD_CTX_free(context) }

  package mutating func add(_ bytes: Swift.Span<UInt8>) {
    unsafe bytes.withUnsafeBufferPointer { buffer in
      _ = unsafe EVP_DigestUpdate(context, buffer.baseAddress, buffer.count)
    }
  }

  /// The digest of all that was added.
  package consuming func digest() -> ContentDigest {
    var bytes = [UInt8](repeating: 0, count: ContentDigest.byteCount)
    _ = unsafe EVP_DigestFinal_ex(context, &bytes, nil)
    guard let digest = ContentDigest(bytes: bytes) else {
      preconditionFailure("a digest has \(ContentDigest.byteCount) bytes")
    }
    return digest
  }

  package static func digest(of bytes: [UInt8]) -> ContentDigest {
    var hash = ContentHash()
    hash.add(bytes.span)
    return hash.digest()
  }
}
