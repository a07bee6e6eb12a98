// Draws the pictures of the image example: a town, a harbour and a station as seen from a hill. The
// same number draws the same picture on every machine. Pure; any thread.
// Sizes are metres, as in `Scene`. Every number of chance is taken from `Dice` in the order of the
// code: a call more or less changes everything behind it.

/// One of the three places.
/// Named as the files that `opexamples draw` writes.
public enum ToyTown: String, CaseIterable, Sendable {
  case town, harbour, station

  /// In pixels; the shapes stay the same at every size.
  public func picture(width: Int = 560, height: Int = 374) -> Picture {
    var builder = TownBuilder(dice: Dice(seed: UInt64(rawValue.utf8.count) &* 7_919))
    switch self {
    case .town: builder.buildTown()
    case .harbour: builder.buildHarbour()
    case .station: builder.buildStation()
    }
    return builder.scene.painted(width: width, height: height, sky: Colour(188, 214, 232))
  }
}

/// Chance that is the same everywhere.
/// A linear congruential generator, which is the same in every release of everything else.
struct Dice {
  private var state: UInt64
  init(seed: UInt64) { state = seed ^ 0x9e37_79b9_7f4a_7c15 }

  /// Evenly spread; the upper bits are used, as the lower ones of such a generator repeat soon.
  mutating func number(_ range: ClosedRange<Double>) -> Double {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    let part = Double(state >> 11) / Double(UInt64(1) << 53)
    return range.lowerBound + part * (range.upperBound - range.lowerBound)
  }
  /// Expects at least one colour.
  mutating func pick(_ colours: [Colour]) -> Colour {
    colours[min(Int(number(0...Double(colours.count))), colours.count - 1)]
  }
  /// True with this probability, 0 to 1.
  mutating func happens(_ chance: Double) -> Bool { number(0...1) < chance }
}

/// Collects shapes; `Scene` sorts them by distance and paints them.
private struct TownBuilder {
  var scene = Scene()
  var dice: Dice

  static let walls = [
    Colour(232, 220, 196), Colour(214, 190, 160), Colour(222, 206, 206), Colour(196, 206, 214),
    Colour(236, 232, 222), Colour(206, 170, 140),
  ]
  static let roofs = [
    Colour(176, 74, 52), Colour(156, 60, 48), Colour(190, 98, 60), Colour(110, 84, 78),
    Colour(120, 120, 132),
  ]
  static let paints = [
    Colour(200, 40, 36), Colour(36, 90, 180), Colour(240, 196, 40), Colour(240, 240, 240),
    Colour(40, 140, 90), Colour(60, 60, 70), Colour(230, 120, 30),
  ]

  init(dice: Dice) { self.dice = dice }

  // MARK: - The three places

  // Four streets along and three across, houses between them, cars on them.
  mutating func buildTown() {
    meadow(Colour(126, 160, 84))
    for x in [-31.0, 0, 31] { road(alongX: nil, at: x) }
    for away in [22.0, 54, 86, 118] { road(alongX: away, at: 0) }
    for away in [27.0, 41, 59, 73, 91, 105, 123, 138, 154, 170] {
      for x in stride(from: -92.0, through: 92, by: 15.5) where !isRoad(x) {
        let width = dice.number(8...10)
        house(x: x - width / 2, away: away, width: width, depth: dice.number(6...8))
        if dice.happens(0.7) { tree(x + 6.4, away + dice.number(1...8)) }
        if dice.happens(0.5) { tree(x + dice.number(-5...5), away - 2) }
      }
    }
    for away in [20.8, 52.8, 84.8, 116.8] {
      for x in stride(from: -70.0, through: 70, by: 13) where dice.happens(0.75) {
        car(x: x + dice.number(-3...3), away: away - (dice.happens(0.5) ? 0 : -2.4), isAlongX: true)
      }
    }
    for x in [-31.0, 0, 31] {
      for away in stride(from: 12.0, through: 150, by: 11) where dice.happens(0.6) {
        car(x: x + (dice.happens(0.5) ? -1.9 : 0.5), away: away, isAlongX: false)
      }
    }
  }

  // Waves first, then the quay with its containers and cranes, ships, and houses behind the water.
  mutating func buildHarbour() {
    meadow(Colour(60, 112, 140))
    for away in stride(from: 10.0, through: 150, by: 4) {
      let x = dice.number(-80...40)
      flat(x, away, dice.number(4...12), 0.25, Colour(96, 148, 170), at: 900)
    }
    // The quay, its stacks and its cranes on the right; the old town behind.
    flat(14, 0, 120, 190, Colour(150, 148, 142), at: 800)
    scene.addBox(
      x: 13, away: 0, width: 1.2, depth: 190, from: 0, height: 0.6, Colour(120, 116, 110))
    for away in stride(from: 26.0, through: 120, by: 9) {
      for x in stride(from: 26.0, through: 74, by: 8.4) where dice.happens(0.8) {
        for level in 0..<Int(dice.number(1...4)) {
          scene.addBox(
            x: x, away: away, width: 7, depth: 2.8, from: Double(level) * 2.7, height: 2.6,
            dice.pick(Self.paints).shaded(0.9))
        }
      }
    }
    for away in [36.0, 68, 100] { crane(x: 16, away: away) }
    for (x, away) in [(-20.0, 24.0), (-30, 42), (-52, 56), (-14, 62), (-40, 92), (-12, 112)] {
      ship(x: x, away: away)
    }
    for away in stride(from: 136.0, through: 180, by: 12) {
      flat(-140, away - 3, 280, 14, Colour(120, 150, 84), at: 700)
      for x in stride(from: -120.0, through: 120, by: 12) {
        house(x: x, away: away, width: dice.number(7...10), depth: 7)
      }
    }
  }

  // Rails and platforms in front, a street and houses behind.
  mutating func buildStation() {
    meadow(Colour(136, 158, 88))
    flat(-140, 30, 280, 34, Colour(146, 136, 124), at: 800)
    for away in [33.0, 38, 47, 52, 61] { track(away) }
    for away in [42.0, 56] {
      scene.addBox(
        x: -42, away: away, width: 84, depth: 3.4, height: 0.8, Colour(190, 186, 176))
      scene.addBox(
        x: -30, away: away + 0.9, width: 60, depth: 1.6, from: 3.6, height: 0.3,
        Colour(120, 126, 130), top: Colour(168, 80, 62))
      for x in stride(from: -28.0, through: 28, by: 8) {
        scene.addBox(
          x: x, away: away + 1.5, width: 0.4, depth: 0.4, from: 0.8, height: 2.8,
          Colour(80, 84, 88))
      }
    }
    train(away: 33, from: -34, cars: 6, Colour(176, 46, 40))
    train(away: 47.2, from: -12, cars: 4, Colour(44, 96, 150))
    train(away: 61, from: -58, cars: 9, Colour(70, 116, 74))
    for x in stride(from: -64.0, through: 64, by: 12) where dice.happens(0.85) {
      tree(x, dice.number(18...22))
      tree(x + 5, dice.number(23...26))
    }
    road(alongX: 72, at: 0)
    for x in stride(from: -80.0, through: 80, by: 9) where dice.happens(0.7) {
      car(x: x, away: dice.happens(0.5) ? 70.8 : 73.2, isAlongX: true)
    }
    for away in stride(from: 79.0, through: 170, by: 15) {
      for x in stride(from: -120.0, through: 120, by: 14) {
        house(x: x, away: away, width: dice.number(8...11), depth: 8)
        if dice.happens(0.6) { tree(x - 2, away + 3) }
      }
    }
  }

  // MARK: - What stands there

  /// Houses keep nine metres away from a street that leads away from the eye.
  private func isRoad(_ x: Double) -> Bool { [-31.0, 0, 31].contains { abs($0 - x) < 9 } }

  /// Reaches beyond what can be seen, so that no edge shows.
  private mutating func meadow(_ colour: Colour) { flat(-400, 0, 800, 400, colour, at: 1_000) }

  /// A patch of ground; patches of lower numbers lie on those of higher ones.
  private mutating func flat(
    _ x: Double, _ away: Double, _ width: Double, _ depth: Double, _ colour: Colour,
    at level: Double
  ) {
    scene.add(
      [
        Point(x, 0, away), Point(x + width, 0, away), Point(x + width, 0, away + depth),
        Point(x, 0, away + depth),
      ], colour, away: level)
  }

  /// A street along x at the distance `away`; without one, a street away from the eye at `x`.
  private mutating func road(alongX away: Double?, at x: Double) {
    let (asphalt, line) = (Colour(104, 104, 110), Colour(226, 222, 206))
    guard let away else {
      flat(x - 4.2, 0, 8.4, 200, Colour(190, 184, 172), at: 800)
      flat(x - 3, 0, 6, 200, asphalt, at: 700)
      for dash in stride(from: 6.0, through: 180, by: 6) {
        flat(x - 0.15, dash, 0.3, 3, line, at: 600)
      }
      return
    }
    flat(-200, away - 4.2, 400, 8.4, Colour(190, 184, 172), at: 799)
    flat(-200, away - 3, 400, 6, asphalt, at: 699)
    for dash in stride(from: -100.0, through: 100, by: 6) {
      flat(dash, away - 0.15, 3, 0.3, line, at: 600)
    }
  }

  /// Lies to the right, since the sun stands on the left behind the eye.
  private mutating func shadow(_ x: Double, _ away: Double, _ width: Double, _ depth: Double) {
    flat(x + width * 0.2, away - 0.5, width + 1.6, depth, Colour(84, 106, 66), at: 500)
  }

  /// Walls, a saddle roof along x, windows, a chimney. Of the two gables the one that faces the
  /// middle is drawn.
  private mutating func house(x: Double, away: Double, width: Double, depth: Double) {
    let (wall, roof) = (dice.pick(Self.walls), dice.pick(Self.roofs))
    let height = dice.number(4...7.5)
    shadow(x, away, width, depth)
    scene.addBox(x: x, away: away, width: width, depth: depth, height: height, wall)
    windows(x: x, away: away, width: width, height: height)
    let (ridge, middle) = (height + 2.6, away + depth / 2)
    let (left, right) = (x - 0.5, x + width + 0.5)
    let side = x > 0 ? x : x + width
    scene.add(
      [Point(side, height, away), Point(side, height, away + depth), Point(side, ridge, middle)],
      wall.shaded(x > 0 ? 1.08 : 0.7), away: away)
    for (edge, light) in [(away + depth + 0.4, 0.8), (away - 0.4, 1.1)] {
      scene.add(
        [
          Point(left, height - 0.2, edge), Point(right, height - 0.2, edge),
          Point(right, ridge, middle), Point(left, ridge, middle),
        ], roof.shaded(light), away: away)
    }
    let chimney = x + width * dice.number(0.2...0.7)
    scene.add(
      [
        Point(chimney, height + 1.2, middle - 1), Point(chimney + 0.9, height + 1.2, middle - 1),
        Point(chimney + 0.9, ridge + 0.8, middle - 1), Point(chimney, ridge + 0.8, middle - 1),
      ],
      Colour(140, 92, 76), away: away)
  }

  /// Rows of windows, as many as the wall has room for; about every fifth is lit.
  private mutating func windows(x: Double, away: Double, width: Double, height: Double) {
    for level in stride(from: 1.0, to: height - 1.2, by: 2.5) {
      for place in stride(from: x + 0.9, to: x + width - 1.2, by: 2.1) {
        scene.add(
          [
            Point(place, level, away), Point(place + 1, level, away),
            Point(place + 1, level + 1.4, away), Point(place, level + 1.4, away),
          ],
          dice.happens(0.2) ? Colour(250, 224, 140) : Colour(74, 92, 112), away: away)
      }
    }
  }

  /// A trunk and three discs, lighter towards the sun.
  private mutating func tree(_ x: Double, _ away: Double) {
    let (size, green) = (
      dice.number(1.5...2.5),
      dice.pick([
        Colour(62, 112, 48), Colour(80, 128, 52), Colour(50, 98, 56), Colour(110, 132, 48),
      ])
    )
    shadow(x - 0.8, away, 2.2, 1.4)
    scene.addBox(
      x: x - 0.25, away: away, width: 0.5, depth: 0.3, height: 2, Colour(100, 76, 56))
    scene.addDisc(Point(x, 2.2 + size * 0.6, away), radius: size, green.shaded(0.8))
    scene.addDisc(
      Point(x - size * 0.22, 2.5 + size * 0.8, away), radius: size * 0.72, green.shaded(1.05),
      away: away)
    scene.addDisc(
      Point(x - size * 0.35, 2.7 + size, away), radius: size * 0.36, green.shaded(1.3), away: away)
  }

  /// A body and a cabin on it, with a shadow below.
  private mutating func car(x: Double, away: Double, isAlongX: Bool) {
    let (long, wide) = isAlongX ? (3.6, 1.6) : (1.6, 3.6)
    let colour = dice.pick(Self.paints)
    flat(x + 0.3, away - 0.3, long + 0.4, wide, Colour(70, 70, 76), at: 500)
    scene.addBox(x: x, away: away, width: long, depth: wide, from: 0.25, height: 0.8, colour)
    scene.addBox(
      x: x + long * 0.22, away: away + wide * 0.15, width: long * 0.56, depth: wide * 0.7,
      from: 1.05, height: 0.6, Colour(70, 84, 100), top: colour.shaded(1.1))
  }

  /// Four legs and a boom over the water.
  private mutating func crane(x: Double, away: Double) {
    let blue = Colour(230, 150, 40)
    for (left, back) in [(0.0, 5.0), (8, 5), (0, 0), (8, 0)] {
      scene.addBox(
        x: x + left, away: away + back, width: 0.9, depth: 0.9, height: 13, blue)
    }
    scene.addBox(
      x: x - 22, away: away + 2, width: 36, depth: 1.6, from: 13, height: 1.1, blue.shaded(0.95))
    scene.addBox(
      x: x + 5, away: away + 1, width: 4, depth: 3, from: 14, height: 2.4, Colour(230, 230, 226))
  }

  /// Hull, bow, bridge, funnel, and containers on deck.
  private mutating func ship(x: Double, away: Double) {
    let hull = dice.pick([Colour(160, 44, 40), Colour(40, 60, 96), Colour(50, 56, 60)])
    flat(x - 1, away - 0.7, 26, 6.2, Colour(150, 186, 200), at: 500)
    scene.addBox(
      x: x, away: away, width: 22, depth: 5, height: 1.8, hull, top: Colour(170, 150, 130))
    scene.add(
      [Point(x + 22, 0, away), Point(x + 25.5, 2.2, away + 2.5), Point(x + 22, 1.8, away)], hull,
      away: away)
    scene.add(
      [Point(x + 22, 1.8, away), Point(x + 25.5, 2.2, away + 2.5), Point(x + 22, 1.8, away + 5)],
      Colour(170, 150, 130), away: away)
    scene.addBox(
      x: x + 1.5, away: away + 1, width: 4.5, depth: 3, from: 1.8, height: 3.2,
      Colour(240, 240, 236))
    scene.addBox(
      x: x + 2.6, away: away + 1.8, width: 1.4, depth: 1.2, from: 5, height: 1.8, hull)
    for place in stride(from: x + 7.5, to: x + 20, by: 3.3) {
      scene.addBox(
        x: place, away: away + 0.8, width: 3, depth: 3.4, from: 1.8, height: 1.6,
        dice.pick(Self.paints))
    }
  }

  /// Sleepers, and two rails on them.
  private mutating func track(_ away: Double) {
    for x in stride(from: -110.0, through: 110, by: 1.6) {
      flat(x, away - 0.2, 0.6, 3, Colour(104, 88, 76), at: 700)
    }
    for rail in [0.4, 2.0] { flat(-140, away + rail, 280, 0.22, Colour(206, 206, 210), at: 600) }
  }

  /// Carriages of 10.4 metres, with gaps between them.
  private mutating func train(away: Double, from start: Double, cars: Int, _ colour: Colour) {
    for number in 0..<cars {
      let x = start + Double(number) * 11
      scene.addBox(
        x: x, away: away + 0.2, width: 10.4, depth: 2.2, from: 0.7, height: 2.5, colour,
        top: Colour(196, 196, 192))
      for window in stride(from: x + 0.9, to: x + 9.6, by: 1.5) {
        scene.add(
          [
            Point(window, 1.9, away + 0.2), Point(window + 1, 1.9, away + 0.2),
            Point(window + 1, 2.8, away + 0.2), Point(window, 2.8, away + 0.2),
          ],
          Colour(240, 232, 196), away: away + 0.2)
      }
    }
  }
}
