// Written by deploy/generate-protobuf: digests of the files in proto/ from which the code beside
// this file was generated. A test compares them with the present files.

enum ProtoDigest {
  static let client = "3400229922 19360"
  static let journal = "4141721256 6747"
  static let submission = "2881755944 19946"
  static let worker = "2298710998 7910"
}
