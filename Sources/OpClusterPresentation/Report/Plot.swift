// The frame of a plot: its area, its axes and their marks. Lengths are units of the picture, which
// is scaled to the width of the page. Colours are classes of `reportStyle`.

import OpClusterModel

struct Plot {
  /// The whole picture is this wide.
  static let width = 720.0
  let left: Double
  let top: Double = 8
  let height: Double
  var areaWidth: Double { Self.width - left - 12 }
  var bottom: Double { top + height }

  /// - Parameter left: The room for the words of the rows.
  init(left: Double = 52, height: Double) {
    self.left = left
    self.height = height
  }

  /// - Parameter share: 0 at the left, 1 at the right end.
  func x(_ share: Double) -> Double { left + min(1, max(0, share)) * areaWidth }
  /// - Parameter share: 0 at the bottom, 1 at the top.
  func y(_ share: Double) -> Double { bottom - min(1, max(0, share)) * height }

  /// A picture that a screen reader calls by its title.
  /// - Parameter foot: The height below the area, for its marks.
  func draw(
    _ title: String, foot: Double = 22, _ body: @escaping (inout HTMLText) -> Void
  ) -> (inout HTMLText) -> Void {
    { html in
      let size = "0 0 \(plotNumber(Self.width)) \(plotNumber(bottom + foot))"
      html.element(
        "svg",
        [("class", "plot"), ("viewBox", size), ("role", "img"), ("aria-label", title)], body)
    }
  }

  // MARK: - Axes

  /// Lines and numbers for a count from 0 to `most`.
  func counts(_ most: Double, _ html: inout HTMLText) {
    for mark in marks(to: most) {
      let y = y(mark / most)
      line(from: (left, y), to: (left + areaWidth, y), "grid", &html)
      label(shownAxisCount(mark), at: (left - 6, y + 4), "end", &html)
    }
  }

  /// Lines and lengths of time from the start.
  /// - Parameter span: Milliseconds, above 0.
  func times(_ span: Int64, _ html: inout HTMLText) {
    let step = timeStep(for: span)
    for number in 0...(span / step) {
      let at = number * step
      let x = x(Double(at) / Double(span))
      line(from: (x, top), to: (x, bottom), "grid", &html)
      label(
        at == 0 ? "0" : shownDuration(milliseconds: at), at: (x, bottom + 15), "middle", &html)
    }
  }

  func label(
    _ words: String, at point: (x: Double, y: Double), _ anchor: String, _ html: inout HTMLText
  ) {
    html.element(
      "text",
      [("x", plotNumber(point.x)), ("y", plotNumber(point.y)), ("text-anchor", anchor)], words)
  }

  func line(
    from: (x: Double, y: Double), to: (x: Double, y: Double), _ kind: String,
    _ html: inout HTMLText
  ) {
    html.empty(
      "line",
      [
        ("class", kind), ("x1", plotNumber(from.x)), ("y1", plotNumber(from.y)),
        ("x2", plotNumber(to.x)), ("y2", plotNumber(to.y)),
      ])
  }

  /// A box, with words that a pointer shows.
  func box(
    x: Double, y: Double, width: Double, height: Double, _ kind: String, _ words: String?,
    _ html: inout HTMLText
  ) {
    html.element(
      "rect",
      [
        ("class", kind), ("x", plotNumber(x)), ("y", plotNumber(y)),
        ("width", plotNumber(width)), ("height", plotNumber(height)),
      ]
    ) { html in
      if let words { html.element("title", words) }
    }
  }
}

/// At most one decimal, which keeps documents small.
func plotNumber(_ value: Double) -> String {
  let tenths = Int64(saturating: (value * 10).rounded())
  let sign = tenths < 0 ? "-" : ""
  let rest = tenths.magnitude % 10
  return sign + "\(tenths.magnitude / 10)" + (rest == 0 ? "" : ".\(rest)")
}

/// At most five round numbers up to `most`, without 0.
private func marks(to most: Double) -> [Double] {
  guard most > 0, most.isFinite else { return [] }
  let digits = [1.0, 2, 5]
  var (power, digit) = (0.001, 0)
  while most / (power * digits[digit]) > 5 {
    digit += 1
    if digit == digits.count { (power, digit) = (power * 10, 0) }
  }
  let step = power * digits[digit]
  return (1...5).map { Double($0) * step }.filter { $0 <= most }
}

/// A round length of time of which there are at most six in this one, in milliseconds.
private func timeStep(for span: Int64) -> Int64 {
  let (second, minute, hour): (Int64, Int64, Int64) = (1_000, 60_000, 3_600_000)
  let steps: [Int64] = [
    1, 2, 5, 10, 20, 50, 100, 200, 500, second, 2 * second, 5 * second, 10 * second, 15 * second,
    30 * second, minute, 2 * minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute, hour,
    2 * hour, 3 * hour, 6 * hour, 12 * hour, 24 * hour,
  ]
  if let step = steps.first(where: { span / $0 <= 6 }) { return step }
  var step = 48 * hour
  while span / step > 6 { step = step.saturatingMultiply(2) }
  return step
}

/// `1,200`, `0.5`.
private func shownAxisCount(_ count: Double) -> String {
  let rounded = count.rounded()
  return rounded == count
    ? shownCount(Int64(saturating: count)) : "\((count * 1_000).rounded() / 1_000)"
}
