// Written by deploy/generate-protobuf: what the files of proto/ were when the code beside
// this file was made. A test compares it with what they are.

enum ProtoDigest {
  static let client = "2589056519 20333"
  static let content = "3177437776 1822"
  static let journal = "2325697899 7581"
  static let submission = "281741883 21846"
  static let worker = "4205767639 8263"
}
