// Written by deploy/generate-protobuf: what the files of proto/ were when the code beside
// this file was made. A test compares it with what they are.

enum ProtoDigest {
  static let client = "3922625796 16048"
  static let journal = "60812115 5077"
  static let submission = "3318667930 16652"
  static let worker = "1382163980 6169"
}
