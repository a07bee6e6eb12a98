// Written by deploy/generate-protobuf: what the files of proto/ were when the code beside
// this file was made. A test compares it with what they are.

enum ProtoDigest {
  static let client = "762627898 20591"
  static let content = "3177437776 1822"
  static let journal = "2325697899 7581"
  static let submission = "1136439247 23237"
  static let worker = "3154485776 9992"
}
