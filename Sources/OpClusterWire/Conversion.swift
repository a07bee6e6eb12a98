// The small parts that every codec of this module is made of: lists, texts, spans and bytes with
// their checks. Pure functions, called on whatever thread encodes or decodes.

import FoundationEssentials
import OpClusterModel
import SwiftProtobuf

/// A word that has a generated message of its own.
protocol WireConvertible {
  associatedtype Proto: SwiftProtobuf.Message
  var proto: Proto { get }
  init(proto: Proto) throws(WireError)
}

/// Messages to words, after a look at how many there are.
func list<Word: WireConvertible>(
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

/// A text of at most so many bytes of UTF-8; SwiftProtobuf has refused what is not UTF-8.
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

/// Lengths of time are never negative on the wire.
func span(_ nanoseconds: Int64, _ field: String) throws(WireError) -> OpClusterModel.Span {
  if nanoseconds < 0 { throw WireError(field, .outOfRange) }
  return OpClusterModel.Span(nanoseconds: nanoseconds)
}

func opaque(_ data: Data, _ limit: Int, _ field: String) throws(WireError) -> [UInt8] {
  try checkCount(data.count, limit, field)
  return [UInt8](data)
}

func data(_ bytes: [UInt8]) -> Data { Data(bytes) }

/// The longest beginning of a free text that keeps the limit and is whole characters of UTF-8:
/// what this module encodes, it also decodes.
func clipped(_ text: String, to limit: Int) -> String {
  if text.utf8.count <= limit { return text }
  for length in stride(from: limit, through: max(limit - 3, 0), by: -1) {
    if let whole = String(text.utf8.prefix(length)) { return whole }
  }
  return ""
}

/// A number that the words keep in fewer bits than the wire.
func narrow<Number: FixedWidthInteger>(
  _ number: some FixedWidthInteger, _ field: String
) throws(WireError) -> Number {
  guard let narrow = Number(exactly: number) else { throw WireError(field, .outOfRange) }
  return narrow
}
