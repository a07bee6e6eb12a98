// Arithmetic and conversions that end at the bounds of a type instead of ending the process. For
// every number that a message, a manifest, a clock, the kernel or a worker's report brought (G33).

extension FixedWidthInteger {
  /// The nearest whole number towards zero; what is no number is zero.
  public init(saturating value: Double) {
    if value.isNaN {
      self = 0
    } else if value <= Double(Self.min) {
      self = .min
    } else if value >= Double(Self.max) {
      // As a Double the largest number may be one more than it is.
      self = .max
    } else {
      self = Self(value)
    }
  }

  public func saturatingAdd(_ other: Self) -> Self {
    let (sum, overflow) = addingReportingOverflow(other)
    guard overflow else { return sum }
    return other < 0 ? .min : .max
  }

  public func saturatingSubtract(_ other: Self) -> Self {
    let (difference, overflow) = subtractingReportingOverflow(other)
    guard overflow else { return difference }
    return other > 0 ? .min : .max
  }

  public func saturatingMultiply(_ other: Self) -> Self {
    let (product, overflow) = multipliedReportingOverflow(by: other)
    guard overflow else { return product }
    return (self < 0) == (other < 0) ? .max : .min
  }
}
