// Building blocks of every codec in this module: checked lists, texts, spans and bytes. Pure
// functions for any thread.

import FoundationEssentials
import OpClusterModel
import SwiftProtobuf

/// A word that a generated message is decoded into.
protocol WireReadable {
  associatedtype Proto: SwiftProtobuf.Message
  init(proto: Proto) throws(WireError)
}

/// A word with a generated message of its own.
protocol WireConvertible: WireReadable {
  var proto: Proto { get }
}

/// A word with advice in it, which is also put into words for those who do not know its code (G32).
protocol WireWorded: WireReadable {
  func proto(_ wording: (Advice) -> String) -> Proto
}

/// Decodes messages into words after a check of their number.
func list<Word: WireReadable>(
  _ protos: [Word.Proto], _ limit: Int, _ field: String
) throws(WireError) -> [Word] {
  try checkCount(protos.count, limit, field)
  var words: [Word] = []
  words.reserveCapacity(protos.count)
  for proto in protos { words.append(try Word(proto: proto)) }
  return words
}

func checkCount(_ count: Int, _ limit: Int, _ field: String) throws(WireError) {
  if count > limit { throw WireError(field, .beyond(limit: limit)) }
}

func checkEqual(_ count: Int, _ other: Int, _ field: String) throws(WireError) {
  if count != other { throw WireError(field, .unequalColumns) }
}

/// Returns the text if it has at most `limit` bytes of UTF-8. SwiftProtobuf has already refused
/// invalid UTF-8.
func text(_ text: String, _ limit: Int, _ field: String) throws(WireError) -> String {
  try checkCount(text.utf8.count, limit, field)
  return text
}

func texts(
  _ texts: [String], _ limit: Int, bytes: Int, _ field: String
) throws(WireError) -> [String] {
  try checkCount(texts.count, limit, field)
  for one in texts { try checkCount(one.utf8.count, bytes, field) }
  return texts
}

/// Refuses negative lengths of time.
func span(_ nanoseconds: Int64, _ field: String) throws(WireError) -> OpClusterModel.Span {
  if nanoseconds < 0 { throw WireError(field, .outOfRange) }
  return OpClusterModel.Span(nanoseconds: nanoseconds)
}

func opaque(_ data: Data, _ limit: Int, _ field: String) throws(WireError) -> [UInt8] {
  try checkCount(data.count, limit, field)
  return [UInt8](data)
}

func data(_ bytes: [UInt8]) -> Data { Data(bytes) }

/// Returns the longest prefix of whole UTF-8 characters within the limit, so that this module can
/// decode everything it encodes.
func clipped(_ text: String, to limit: Int) -> String {
  if text.utf8.count <= limit { return text }
  for length in stride(from: limit, through: max(limit - 3, 0), by: -1) {
    if let whole = String(text.utf8.prefix(length)) { return whole }
  }
  return ""
}

/// Converts a number to the narrower type of the word.
func narrow<Number: FixedWidthInteger>(
  _ number: some FixedWidthInteger, _ field: String
) throws(WireError) -> Number {
  guard let narrow = Number(exactly: number) else { throw WireError(field, .outOfRange) }
  return narrow
}
