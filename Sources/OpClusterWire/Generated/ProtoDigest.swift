// Written by deploy/generate-protobuf: what the files of proto/ were when the code beside
// this file was made. A test compares it with what they are.

enum ProtoDigest {
  static let client = "319721567 16870"
  static let journal = "60812115 5077"
  static let submission = "2768829821 18274"
  static let worker = "3099522692 6876"
}
