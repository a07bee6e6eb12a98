// Amounts and sizes on a command line. Exact: no floating point. Pure.

import ArgumentParser
import OpClusterModel

/// An amount of cpus, gpus or a named resource, such as `2` or `0.5`: at most four digits after the
/// point.
struct Amount: Equatable, Sendable, ExpressibleByArgument {
  var value: ResourceAmount

  /// The maximum amount; no worker has more.
  static let largest: Int64 = 1_000_000

  init?(argument: String) {
    guard let parts = decimal(argument, scale: 10_000), parts.isExact,
      parts.value <= Self.largest * 10_000
    else { return nil }
    value = ResourceAmount(tenThousandths: parts.value)
  }
}

extension [Assignment] {
  /// Combines several `--resource name=amount` options. Throws what the coordinator would refuse,
  /// in the words of the option. The order is that of the command line.
  func namedAmounts() throws(ValidationError) -> [Resources.NamedAmount] {
    guard count <= Limits.customResources else {
      throw ValidationError("more than \(Limits.customResources) resources")
    }
    var amounts: [Resources.NamedAmount] = []
    for assignment in self {
      guard let amount = Amount(argument: assignment.value) else {
        throw ValidationError("--resource \(assignment.key): '\(assignment.value)' is no amount")
      }
      guard (1...Limits.nameBytes).contains(assignment.key.utf8.count) else {
        throw ValidationError("a resource's name has 1 to \(Limits.nameBytes) bytes")
      }
      guard !["cpus", "memory", "gpus"].contains(assignment.key) else {
        throw ValidationError("write --\(assignment.key) \(assignment.value)")
      }
      guard !amounts.contains(where: { $0.name == assignment.key }) else {
        throw ValidationError("--resource \(assignment.key) is given twice")
      }
      amounts.append(.init(name: assignment.key, amount: amount.value))
    }
    return amounts
  }
}

/// `512MiB`, `1.5G`, `4096` (bytes). K, M, G and T alone are powers of 1024. Whole bytes: a part of
/// a byte is cut off. Units that differ in case only are those that people write; `kb` and `m` are
/// refused.
struct Size: Equatable, Sendable, ExpressibleByArgument {
  var bytes: Int64

  init?(argument: String) {
    let units: [String: Int64] = [
      "": 1, "B": 1, "kB": 1_000, "KB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000,
      "TB": 1_000_000_000_000, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40,
      "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
    ]
    // Digits of other scripts are no digits here.
    let number = argument.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
    guard let scale = units[String(argument.dropFirst(number.count))],
      let parts = decimal(String(number), scale: scale)
    else { return nil }
    bytes = parts.value
  }
}

/// Multiplies a decimal number by `scale`. Cuts off a remaining fraction; `isExact` tells whether
/// there was none. nil if the text is no number, or does not fit. At most nine digits after the
/// point, so that every product fits.
private func decimal(_ text: String, scale: Int64) -> (value: Int64, isExact: Bool)? {
  let parts = text.split(separator: ".", omittingEmptySubsequences: false)
  guard parts.count <= 2, let whole = parts.first, isDigits(whole), let units = Int64(whole)
  else { return nil }
  let (value, overflow) = units.multipliedReportingOverflow(by: scale)
  guard !overflow else { return nil }
  guard parts.count == 2 else { return (value, true) }
  guard isDigits(parts[1]), parts[1].utf8.count <= 9, let digits = Int64(parts[1]) else {
    return nil
  }
  var divisor: Int64 = 1
  for _ in parts[1].utf8 { divisor *= 10 }
  // At most 10⁹ times 2⁴⁰: fits into the double width.
  let (quotient, rest) = divisor.dividingFullWidth(digits.multipliedFullWidth(by: scale))
  let (sum, tooMuch) = value.addingReportingOverflow(quotient)
  return tooMuch ? nil : (sum, rest == 0)
}

private func isDigits(_ text: Substring) -> Bool {
  !text.isEmpty && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
}
