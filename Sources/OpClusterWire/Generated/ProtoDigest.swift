// Written by deploy/generate-protobuf: what the files of proto/ were when the code beside
// this file was made. A test compares it with what they are.

enum ProtoDigest {
  static let client = "2449014767 20994"
  static let content = "1266286253 2627"
  static let journal = "2392093331 8153"
  static let submission = "3718630725 23565"
  static let worker = "3829776803 10116"
}
