// Makes a photograph look like one of a model: sharp in a band, ever more blurred away from it, the
// colours strong. Pure; any thread.
// A row is blurred by its distance from the band, as a lens does that is tilted. O(pixels),
// whatever the radius.

extension Picture {
  /// - Parameters:
  ///   - focus: The position of the sharp band, 0 (top) … 1 (bottom).
  ///   - radius: The blur at the far end, in pixels.
  ///   - keepsOn: Called before every row; throws to stop.
  public func tiltShifted(
    focus: Double, radius: Double, keepsOn: () throws -> Void
  ) rethrows -> Picture {
    // Rows are worked on one after the other; `keepsOn` may end it between any two.
    var result = self
    // Three box filters approximate the disc of a lens.
    for _ in 0..<3 { try result.blurRows(focus: focus, radius: radius, keepsOn) }
    result.strengthenColours()
    return result
  }

  public func tiltShifted(focus: Double, radius: Double) -> Picture {
    tiltShifted(focus: focus, radius: radius) {}
  }

  /// How far to the sides and up and down the row looks.
  /// 0 in the band, growing to about 0.6 of `radius` at the far end, for each of the three passes.
  private func reach(ofRow y: Int, _ focus: Double, _ radius: Double) -> Int {
    let distance = abs(Double(y) / Double(max(height - 1, 1)) - focus)
    let band = 0.09
    let far = min(max((distance - band) / 0.42, 0), 1)
    return Int((radius * far * (2 - far) / 1.7).rounded())
  }

  private mutating func blurRows(
    focus: Double, radius: Double, _ keepsOn: () throws -> Void
  ) rethrows {
    // Of the picture before this pass, so that rows do not see each other's results.
    let sums = SumTable(self)
    for y in 0..<height {
      try keepsOn()
      let reach = reach(ofRow: y, focus, radius)
      guard reach > 0 else { continue }
      let rows = max(y - reach, 0)..<min(y + reach + 1, height)
      for x in 0..<width {
        let columns = max(x - reach, 0)..<min(x + reach + 1, width)
        let at = (y * width + x) * 3
        for channel in 0..<3 { bytes[at + channel] = sums.mean(rows, columns, channel) }
      }
    }
  }

  /// Saturation by 1.4 and contrast by 1.08, in whole numbers.
  private mutating func strengthenColours() {
    for at in stride(from: 0, to: bytes.count, by: 3) {
      let (red, green, blue) = (Int(bytes[at]), Int(bytes[at + 1]), Int(bytes[at + 2]))
      let grey = (red * 3 + green * 6 + blue) / 10
      for (channel, value) in [red, green, blue].enumerated() {
        let vivid = grey + (value - grey) * 14 / 10
        bytes[at + channel] = UInt8(min(max(128 + (vivid - 128) * 108 / 100, 0), 255))
      }
    }
  }
}

/// The sum of every rectangle from the top left corner, so that the mean of any box needs four
/// reads. The sums are of light, which is about the square of the stored value.
/// 64 bits hold the squares of the largest picture many times over.
private struct SumTable {
  private let stride: Int
  private var sums: [Int]

  init(_ picture: Picture) {
    stride = (picture.width + 1) * 3
    sums = [Int](repeating: 0, count: stride * (picture.height + 1))
    for y in 0..<picture.height {
      var row = [0, 0, 0]
      for x in 0..<picture.width {
        for channel in 0..<3 {
          let value = Int(picture.bytes[(y * picture.width + x) * 3 + channel])
          row[channel] += value * value
          let at = (y + 1) * stride + (x + 1) * 3 + channel
          sums[at] = sums[at - stride] + row[channel]
        }
      }
    }
  }

  func mean(_ rows: Range<Int>, _ columns: Range<Int>, _ channel: Int) -> UInt8 {
    func sum(_ y: Int, _ x: Int) -> Int { sums[y * stride + x * 3 + channel] }
    let total =
      sum(rows.upperBound, columns.upperBound) - sum(rows.lowerBound, columns.upperBound)
      - sum(rows.upperBound, columns.lowerBound) + sum(rows.lowerBound, columns.lowerBound)
    let light = Double(total) / Double(rows.count * columns.count)
    return UInt8(min(light.squareRoot().rounded(), 255))
  }
}
