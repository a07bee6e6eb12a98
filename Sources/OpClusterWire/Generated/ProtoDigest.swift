// Written by deploy/generate-protobuf: what the files of proto/ were when the code beside
// this file was made. A test compares it with what they are.

enum ProtoDigest {
  static let client = "1895919458 22437"
  static let content = "3697080341 2791"
  static let journal = "891594401 8998"
  static let submission = "3839224123 23988"
  static let worker = "2017944919 11301"
}
