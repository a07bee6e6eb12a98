// A very small painter of bodies in space: what is added is painted from the far end to the near
// one, seen from a hill. Pure; any thread.
// There is no hidden-surface removal: near shapes cover far ones because they are painted later.
// That suffices for a town without bridges.

/// A point in the world: metres to the right, up, and away.
/// The eye stands at x = 0 and away = 0.
struct Point {
  var x: Double
  var up: Double
  var away: Double

  init(_ x: Double, _ up: Double, _ away: Double) {
    self.x = x
    self.up = up
    self.away = away
  }
}

/// Shapes with a colour, and where they stand in the order of painting.
/// Shapes are kept until all are there, and sorted once.
struct Scene {
  private enum Shape {
    case polygon([Point])
    case disc(centre: Point, radius: Double)
  }
  /// `number` is the order of adding, which decides between equal distances.
  private var shapes: [(shape: Shape, colour: Colour, away: Double, number: Int)] = []
  private let eyeHeight = 46.0
  // Looking down by 36 degrees.
  private let sine = 0.588
  private let cosine = 0.809

  /// - Parameter away: its place in the order; by default that of its nearest corner.
  mutating func add(_ corners: [Point], _ colour: Colour, away: Double? = nil) {
    let nearest = corners.map(\.away).min() ?? 0
    shapes.append((.polygon(corners), colour, away ?? nearest, shapes.count))
  }

  mutating func addDisc(_ centre: Point, radius: Double, _ colour: Colour, away: Double? = nil) {
    shapes.append(
      (.disc(centre: centre, radius: radius), colour, away ?? centre.away, shapes.count))
  }

  /// A box on the ground without its bottom, the sun to the left behind the eye.
  /// O(n log n) in the shapes, and the pixels that each covers.
  mutating func addBox(
    x: Double, away: Double, width: Double, depth: Double, from base: Double = 0, height: Double,
    _ colour: Colour, top: Colour? = nil
  ) {
    let (right, back, roof) = (x + width, away + depth, base + height)
    func corner(_ x: Double, _ up: Double, _ away: Double) -> Point { Point(x, up, away) }
    // Of the two sides one is seen, the one that faces the middle; none if it stands there.
    if x > 0 || right < 0 {
      let side = x > 0 ? x : right
      add(
        [
          corner(side, base, away), corner(side, base, back), corner(side, roof, back),
          corner(side, roof, away),
        ], colour.shaded(x > 0 ? 1.08 : 0.7), away: away)
    }
    add(
      [
        corner(x, base, away), corner(right, base, away), corner(right, roof, away),
        corner(x, roof, away),
      ], colour, away: away)
    add(
      [
        corner(x, roof, away), corner(right, roof, away), corner(right, roof, back),
        corner(x, roof, back),
      ], top ?? colour.shaded(1.2), away: away)
  }

  /// The picture; drawn at twice the size, so that edges are smooth.
  func painted(width: Int, height: Int, sky: Colour) -> Picture {
    var picture = Picture(width: width * 2, height: height * 2, filledWith: sky)
    let order = shapes.sorted { ($1.away, $0.number) < ($0.away, $1.number) }
    for entry in order {
      switch entry.shape {
      case .polygon(let corners):
        picture.fill(clipped(corners).map { place($0, picture) }, entry.colour)
      case .disc(let centre, let radius):
        guard depth(centre) > 1 else { continue }
        let (x, y) = place(centre, picture)
        picture.fillDisc(x, y, radius * scale(picture) / depth(centre), entry.colour)
      }
    }
    return picture.scaled(toWidth: width)
  }

  /// The picture's width is about the distance to what fills it: an angle of some 51 degrees.
  private func scale(_ picture: Picture) -> Double { Double(picture.width) * 1.05 }
  /// Distance along the line of sight; 0 or less is behind the eye.
  private func depth(_ point: Point) -> Double {
    (eyeHeight - point.up) * sine + point.away * cosine
  }

  /// Perspective: what is twice as far away is half as large.
  private func place(_ point: Point, _ picture: Picture) -> (Double, Double) {
    let rise = (point.up - eyeHeight) * cosine + point.away * sine
    let factor = scale(picture) / depth(point)
    return (
      Double(picture.width) / 2 + point.x * factor, Double(picture.height) / 2 - rise * factor
    )
  }

  /// Cuts off the part behind the eye, or too close to it.
  private func clipped(_ corners: [Point]) -> [Point] {
    let nearest = 4.0
    var result: [Point] = []
    for (at, corner) in corners.enumerated() {
      let next = corners[(at + 1) % corners.count]
      if corner.away >= nearest { result.append(corner) }
      if (corner.away < nearest) != (next.away < nearest) {
        let part = (nearest - corner.away) / (next.away - corner.away)
        result.append(
          Point(
            corner.x + (next.x - corner.x) * part, corner.up + (next.up - corner.up) * part,
            nearest))
      }
    }
    return result
  }
}

extension Picture {
  /// Fills a convex polygon.
  /// Line by line: from the leftmost to the rightmost crossing of the edges with the middle of the
  /// line.
  fileprivate mutating func fill(_ corners: [(x: Double, y: Double)], _ colour: Colour) {
    guard corners.count > 2, let top = corners.map(\.y).min(), let bottom = corners.map(\.y).max(),
      top < Double(height), bottom >= 0
    else { return }
    for y in max(Int(top), 0)...min(max(Int(bottom), 0), height - 1) {
      let middle = Double(y) + 0.5
      var (left, right) = (Double.infinity, -Double.infinity)
      for (at, corner) in corners.enumerated() {
        let next = corners[(at + 1) % corners.count]
        guard (corner.y <= middle) != (next.y <= middle) else { continue }
        let x = corner.x + (next.x - corner.x) * (middle - corner.y) / (next.y - corner.y)
        (left, right) = (min(left, x), max(right, x))
      }
      paint(y, from: left, to: right, colour)
    }
  }

  /// Line by line, too; parts outside of the picture are left out.
  fileprivate mutating func fillDisc(_ x: Double, _ y: Double, _ radius: Double, _ colour: Colour) {
    guard radius > 0, y + radius >= 0, y - radius < Double(height) else { return }
    for row in max(Int(y - radius), 0)...min(max(Int(y + radius), 0), height - 1) {
      let rise = Double(row) + 0.5 - y
      let half = (radius * radius - rise * rise).squareRoot()
      if half > 0 { paint(row, from: x - half, to: x + half, colour) }
    }
  }

  /// Whole pixels; both ends are rounded alike, so that neighbours neither overlap nor leave a gap.
  private mutating func paint(_ y: Int, from left: Double, to right: Double, _ colour: Colour) {
    guard left < right, right >= 0, left < Double(width) else { return }
    for x in Int(
      max(left.rounded(), 0))..<max(
        Int(min(right, Double(width)).rounded()),
        Int(max(left.rounded(), 0)))
    { self[x, y] = colour }
  }
}
