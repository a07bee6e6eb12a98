// Written by deploy/generate-protobuf: what the files of proto/ were when the code beside
// this file was made. A test compares it with what they are.

enum ProtoDigest {
  static let client = "692861130 18474"
  static let journal = "3492738606 6292"
  static let submission = "2196771768 19718"
  static let worker = "2298710998 7910"
}
