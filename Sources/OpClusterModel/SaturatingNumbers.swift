// Arithmetic and conversions that clamp to the bounds of a type instead of trapping. For every
// number from a message, a manifest, a clock, the kernel or a worker's report (G33).

extension FixedWidthInteger {
  /// Rounds towards zero and clamps; NaN becomes zero.
  public init(saturating value: Double) {
    if value.isNaN {
      self = 0
    } else if value <= Double(Self.min) {
      self = .min
    } else if value >= Double(Self.max) {
      // The largest number may round up by one as a Double.
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
