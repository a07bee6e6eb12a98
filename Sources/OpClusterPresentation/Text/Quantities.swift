// Formats numbers for people: counts, sizes, lengths of time.
// Formats are for reading, not for parsing: JSON has exact numbers.

public import OpClusterModel

/// Formats `1234567` as `1,234,567`.
public func shownCount(_ count: some BinaryInteger) -> String {
  let digits = String(count.magnitude)
  var result = count < 0 ? "-" : ""
  for (position, digit) in digits.enumerated() {
    if position > 0, (digits.count - position) % 3 == 0 { result += "," }
    result.append(digit)
  }
  return result
}

/// Formats `1 operation`, `1,200 operations`.
public func shownCount(_ count: some BinaryInteger, _ noun: String) -> String {
  shownCount(count) + " " + noun + (count == 1 ? "" : "s")
}

/// Formats bytes in powers of 1024: `512 B`, `1.5 KiB`, `12 GiB`.
/// At most three digits and a point, so that columns stay narrow.
public func shownSize(_ bytes: some BinaryInteger) -> String {
  var value = Double(bytes)
  var unit = 0
  // 999.5 and more would round to four digits.
  while value >= (unit == 0 ? 1024 : 999.5), unit < sizeUnits.count - 1 {
    value /= 1024
    unit += 1
  }
  if unit == 0 || value >= 9.95 {
    return "\(Int64(saturating: value.rounded())) \(sizeUnits[unit])"
  }
  return "\(oneDecimal(value)) \(sizeUnits[unit])"
}

private let sizeUnits = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]

/// Formats a length of time in at most two units: `250ms`, `3.2s`, `42s`, `1m 23s`, `2h 05m`, `3d
/// 4h`.
/// Negative lengths, from clocks that were set back, are shown as 0.
public func shownDuration(milliseconds: Int64) -> String {
  let length = max(milliseconds, 0)
  if length < 1000 { return "\(length)ms" }
  if length < 9_950 { return oneDecimal(Double(length) / 1000) + "s" }
  // Below a minute, seconds are rounded; above it they are cut, so that no unit shows 60.
  let seconds = length / 1000 + (length < 60_000 && length % 1000 >= 500 ? 1 : 0)
  if seconds < 60 { return "\(seconds)s" }
  if seconds < 3600 { return "\(seconds / 60)m \(twoDigits(seconds % 60))s" }
  if seconds < 86_400 { return "\(seconds / 3600)h \(twoDigits(seconds / 60 % 60))m" }
  return "\(shownCount(seconds / 86_400))d \(seconds / 3600 % 24)h"
}

public func shownDuration(_ span: Span) -> String {
  shownDuration(milliseconds: span.wholeMilliseconds)
}

/// Formats the time between two moments; nil if one of them is unknown.
func shownDuration(from start: WallTime, to end: WallTime) -> String? {
  guard start != .unknown, end != .unknown else { return nil }
  return shownDuration(end - start)
}

/// Formats an amount without trailing decimals: `4`, `0.5`.
public func shownAmount(_ amount: ResourceAmount) -> String {
  let whole = amount.tenThousandths / 10_000
  let rest = amount.tenThousandths % 10_000
  guard rest != 0 else { return shownCount(whole) }
  var decimals = String(10_000 + rest.magnitude).dropFirst()
  while decimals.hasSuffix("0") { decimals.removeLast() }
  return (amount.tenThousandths < 0 ? "-" : "") + "\(whole.magnitude).\(decimals)"
}

/// Does not round to two digits: 9.96 becomes 10.0.
func oneDecimal(_ value: Double) -> String {
  let tenths = Int64(saturating: (value * 10).rounded())
  return "\(tenths / 10).\(tenths % 10)"
}

func twoDigits(_ number: some BinaryInteger) -> String {
  number < 10 ? "0\(number)" : "\(number)"
}
