// Parses durations, sizes, amounts and signals. Exact: no floating point. Pure.
// Findings are made by `Fields`: nil here means that the text has another form, or is too large.

import OpClusterModel

/// Texts as people write them; the results are integers of the smallest unit.
enum Quantities {
  /// A hundred years; a longer duration is taken for a typing error.
  private static let longest: Int64 = 100 * 365 * 86_400 * 1_000_000_000

  /// Parses `90s`, `1h30m`, `1.5h`; nil for anything else.
  /// Units may follow each other in any order and repeat; each part has one. The result is
  /// nanoseconds.
  static func duration(_ text: String) -> Span? {
    // `ms` before `m`: the first unit that fits is taken.
    let units: [(String, Int64)] = [
      ("ms", 1_000_000), ("s", 1_000_000_000), ("m", 60_000_000_000), ("h", 3_600_000_000_000),
      ("d", 86_400_000_000_000),
    ]
    var rest = Substring(text)
    var total: Int64 = 0
    while !rest.isEmpty {
      let number = rest.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
      rest = rest.dropFirst(number.count)
      guard let (unit, scale) = units.first(where: { rest.hasPrefix($0.0) }),
        let part = scaled(number, by: scale)
      else { return nil }
      rest = rest.dropFirst(unit.count)
      total = total.addingReportingOverflow(part).partialValue
      guard part <= longest, total <= longest, total >= 0 else { return nil }
    }
    return text.isEmpty ? nil : Span(nanoseconds: total)
  }

  /// Parses `512MiB`, `1.5 GB`, `4096` (bytes).
  /// A blank may stand before the unit. Decimal and binary units are told apart by the `i`.
  static func bytes(_ text: String) -> Int64? {
    let units: [String: Int64] = [
      "": 1, "B": 1, "kB": 1000, "KB": 1000, "MB": 1_000_000, "GB": 1_000_000_000,
      "TB": 1_000_000_000_000, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
    ]
    let number = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
    var unit = text.dropFirst(number.count)
    if unit.first == " ", unit.count > 1 { unit = unit.dropFirst() }
    guard let scale = units[String(unit)] else { return nil }
    return scaled(number, by: scale)
  }

  /// Parses `0`, `2`, `0.5`: at most four digits after the point.
  /// Ten-thousandths of a unit, as on the wire.
  static func amount(_ text: String) -> ResourceAmount? {
    guard let point = text.firstIndex(of: ".") else {
      return scaled(Substring(text), by: 10_000).map { ResourceAmount(tenThousandths: $0) }
    }
    guard text[point...].dropFirst().count <= 4 else { return nil }
    return scaled(Substring(text), by: 10_000).map { ResourceAmount(tenThousandths: $0) }
  }

  /// Parses a decimal number and multiplies it by `scale`; cuts off a remaining fraction. nil if it
  /// is no number, or does not fit.
  /// Digits behind the eighteenth decimal cannot matter and are passed over, so that the fraction
  /// fits 64 bits.
  static func scaled(_ text: Substring, by scale: Int64) -> Int64? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count <= 2, let whole = parts.first, !whole.isEmpty,
      whole.utf8.allSatisfy(Names.isDigit), let units = Int64(whole)
    else { return nil }
    let (value, overflow) = units.multipliedReportingOverflow(by: scale)
    guard !overflow else { return nil }
    guard parts.count == 2 else { return value }
    guard !parts[1].isEmpty, parts[1].utf8.allSatisfy(Names.isDigit) else { return nil }
    var fraction: Int64 = 0
    var divisor: Int64 = 1
    for digit in parts[1].utf8.prefix(18) {
      fraction = fraction * 10 + Int64(digit - UInt8(ascii: "0"))
      divisor *= 10
    }
    // The product has up to 128 bits; the quotient fits, since the fraction is below one.
    let product = fraction.multipliedFullWidth(by: scale)
    let quotient = divisor.dividingFullWidth(product).quotient
    let (sum, tooMuch) = value.addingReportingOverflow(quotient)
    return tooMuch ? nil : sum
  }

  /// Returns a signal by name, with or without `SIG`; numbers as on Linux.
  /// Numbers are not accepted: they differ between systems.
  static func signal(_ text: String) -> Int32? {
    let name = text.hasPrefix("SIG") ? String(text.dropFirst(3)) : text
    return signals[name]
  }

  static let signals: [String: Int32] = [
    "HUP": 1, "INT": 2, "QUIT": 3, "ILL": 4, "TRAP": 5, "ABRT": 6, "BUS": 7, "FPE": 8, "KILL": 9,
    "USR1": 10, "SEGV": 11, "USR2": 12, "PIPE": 13, "ALRM": 14, "TERM": 15, "CHLD": 17,
    "CONT": 18, "STOP": 19, "TSTP": 20, "TTIN": 21, "TTOU": 22, "URG": 23, "XCPU": 24,
    "XFSZ": 25, "VTALRM": 26, "PROF": 27, "WINCH": 28, "IO": 29, "PWR": 30, "SYS": 31,
  ]
}
