// Written by deploy/generate-protobuf: what the files of proto/ were when the code beside
// this file was made. A test compares it with what they are.

enum ProtoDigest {
  static let client = "1396817863 13252"
  static let journal = "1505023487 4496"
  static let submission = "12586421 13832"
  static let worker = "2547391089 5653"
}
