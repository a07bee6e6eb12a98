// Parses amounts of the command line. Pure.
// An error names the flag and a form that is right. Numbers are bounded here, so that later
// arithmetic with them does not overflow.

import ArgumentParser
import OpClusterModel

enum Quantity {
  /// `4` or `0.5`, not negative.
  /// Rounded to ten-thousandths, which is what resources are counted in.
  static func amount(_ text: String, of flag: String) throws(ValidationError) -> ResourceAmount {
    guard let number = Double(text), number.isFinite, (0...1e9).contains(number) else {
      throw ValidationError("\(flag): '\(text)' is not a number from 0 to 1e9")
    }
    return ResourceAmount(tenThousandths: Int64(saturating: (number * 10_000).rounded()))
  }

  /// `1048576`, `512M`, `16GiB`, or `90%` of `whole` if that is given.
  /// Letters may be small. A unit without `i` is decimal, as disks are labelled.
  ///
  /// - Parameter whole: What a percentage is of; nil where there is none.
  static func bytes(
    _ text: String, of whole: Int64?, flag: String = "--memory"
  ) throws(ValidationError) -> Int64 {
    let digits = text.prefix { $0.isNumber || $0 == "." }
    guard let number = Double(digits), number.isFinite, number >= 0 else {
      throw wrong(text, flag, whole)
    }
    if let whole, text.hasSuffix("%"), digits.count == text.count - 1, number <= 100 {
      return Int64(saturating: Double(whole) * number / 100)
    }
    let factors: [String: Double] = [
      "": 1, "B": 1, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "KB": 1e3, "MB": 1e6, "GB": 1e9,
      "TB": 1e12, "KIB": 1_024, "MIB": 1_048_576, "GIB": 1_073_741_824,
      "TIB": 1_099_511_627_776,
    ]
    guard let factor = factors[text.dropFirst(digits.count).uppercased()],
      number * factor < 9e18
    else { throw wrong(text, flag, whole) }
    return Int64(saturating: number * factor)
  }

  private static func wrong(_ text: String, _ flag: String, _ whole: Int64?) -> ValidationError {
    let examples = whole == nil ? "8G or 512MiB" : "8G, 512MiB, or 90%"
    return ValidationError("\(flag): '\(text)' is not a size; write \(examples)")
  }

  /// `90s`, `15m`, `12h`, `30d`: a minute to ten years.
  /// The bounds are checked before the multiplication, too: it cannot overflow.
  static func span(_ text: String, of flag: String) throws(ValidationError) -> OpClusterModel.Span {
    let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400]
    let digits = text.utf8.dropLast()
    guard let unit = text.last.flatMap({ units[$0] }),
      digits.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int64(text.dropLast()),
      number <= 3_650 * 86_400, (60...3_650 * 86_400).contains(number * unit)
    else {
      throw ValidationError("\(flag): '\(text)' is not a time from 1m to 3650d, such as 12h or 30d")
    }
    return .seconds(number * unit)
  }

  /// `NAME=VALUE`
  /// The value may be empty, and may hold further signs of equality.
  static func pair(_ text: String, of flag: String) throws(ValidationError) -> (String, String) {
    guard let equals = text.firstIndex(of: "="), equals != text.startIndex else {
      throw ValidationError("\(flag): '\(text)' is not NAME=VALUE")
    }
    return (String(text[..<equals]), String(text[text.index(after: equals)...]))
  }
}
