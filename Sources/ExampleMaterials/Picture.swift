// A picture in memory for the image example. Plain values; any thread.
// Operations hand pictures on as values; `PictureFiles` reads and writes files.

import FoundationEssentials

/// A picture of 8 bits each of red, green and blue per pixel, row by row from the top.
/// Values: a filter works on a copy of its own.
public struct Picture: Hashable, Sendable {
  /// In pixels, 1…`Picture.longestSide`.
  public let width: Int
  public let height: Int
  /// Three bytes for each pixel.
  public var bytes: [UInt8]

  /// Bounds the memory of one picture to 192 MiB.
  public static let longestSide = 8_192

  /// - Throws: `MaterialError` if the sides are out of range or do not match the bytes.
  public init(width: Int, height: Int, bytes: [UInt8]) throws(MaterialError) {
    guard (1...Self.longestSide).contains(width), (1...Self.longestSide).contains(height) else {
      throw MaterialError("a picture of \(width) x \(height) is not of 1 to \(Self.longestSide)")
    }
    guard bytes.count == width * height * 3 else {
      throw MaterialError("\(bytes.count) bytes are no picture of \(width) x \(height)")
    }
    self.width = width
    self.height = height
    self.bytes = bytes
  }

  /// A picture of one colour.
  /// Sides beyond the range are clamped to it: the sizes are the program's own.
  public init(width: Int, height: Int, filledWith colour: Colour) {
    self.width = min(max(width, 1), Self.longestSide)
    self.height = min(max(height, 1), Self.longestSide)
    bytes = []
    bytes.reserveCapacity(self.width * self.height * 3)
    for _ in 0..<self.width * self.height { bytes += [colour.red, colour.green, colour.blue] }
  }

  /// A pixel; outside of the picture reading gives black and writing has no effect.
  public subscript(x: Int, y: Int) -> Colour {
    get {
      guard x >= 0, x < width, y >= 0, y < height else { return Colour(0, 0, 0) }
      let at = (y * width + x) * 3
      return Colour(bytes[at], bytes[at + 1], bytes[at + 2])
    }
    set {
      guard x >= 0, x < width, y >= 0, y < height else { return }
      let at = (y * width + x) * 3
      bytes[at] = newValue.red
      bytes[at + 1] = newValue.green
      bytes[at + 2] = newValue.blue
    }
  }

  /// Scales the picture; each pixel of the result is the mean of the pixels that it covers.
  /// Never enlarges. Sides are rounded down, and are at least 1.
  public func scaled(toWidth newWidth: Int) -> Picture {
    let newWidth = min(max(newWidth, 1), width)
    let newHeight = max(1, height * newWidth / width)
    var result = Picture(width: newWidth, height: newHeight, filledWith: Colour(0, 0, 0))
    for y in 0..<newHeight {
      let rows =
        y * height / newHeight..<max(y * height / newHeight + 1, (y + 1) * height / newHeight)
      for x in 0..<newWidth {
        let columns =
          x * width / newWidth..<max(x * width / newWidth + 1, (x + 1) * width / newWidth)
        result[x, y] = mean(rows, columns)
      }
    }
    return result
  }

  private func mean(_ rows: Range<Int>, _ columns: Range<Int>) -> Colour {
    var (red, green, blue) = (0, 0, 0)
    for y in rows {
      for x in columns {
        let pixel = self[x, y]
        red += Int(pixel.red)
        green += Int(pixel.green)
        blue += Int(pixel.blue)
      }
    }
    let count = rows.count * columns.count
    return Colour(UInt8(red / count), UInt8(green / count), UInt8(blue / count))
  }

  /// Copies another picture onto this one.
  /// Parts that lie outside are left out.
  public mutating func paste(_ other: Picture, atX left: Int, y top: Int) {
    for y in 0..<other.height {
      for x in 0..<other.width { self[left + x, top + y] = other[x, y] }
    }
  }
}

public struct Colour: Hashable, Sendable {
  public var red: UInt8
  public var green: UInt8
  public var blue: UInt8

  public init(_ red: UInt8, _ green: UInt8, _ blue: UInt8) {
    self.red = red
    self.green = green
    self.blue = blue
  }

  /// Darker below 1, lighter above.
  public func shaded(_ factor: Double) -> Colour {
    func part(_ value: UInt8) -> UInt8 { UInt8(min(max(Double(value) * factor, 0), 255)) }
    return Colour(part(red), part(green), part(blue))
  }
}

/// An error of the machine, a file or a server, for people.
public struct MaterialError: Error, Hashable, Sendable, CustomStringConvertible {
  public var description: String
  public init(_ description: String) { self.description = description }
}

extension Picture: Codable {
  private enum Key: CodingKey { case width, height, pixels }

  /// Pixels as Base64: a list of numbers would be three times as long.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(width, forKey: .width)
    try container.encode(height, forKey: .height)
    try container.encode(Data(bytes).base64EncodedString(), forKey: .pixels)
  }

  /// - Throws: `MaterialError` if the pixels are not those of such a picture.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    let text = try container.decode(String.self, forKey: .pixels)
    guard let pixels = Data(base64Encoded: text) else {
      throw MaterialError("the pixels of a picture are not in Base64")
    }
    self = try Picture(
      width: try container.decode(Int.self, forKey: .width),
      height: try container.decode(Int.self, forKey: .height), bytes: [UInt8](pixels))
  }
}
