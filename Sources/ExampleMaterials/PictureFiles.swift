// Pictures in files: PNG by libpng's simplified API, and PPM, which contains plain pixels. The only
// file that uses libpng. Any thread.
// PPM holds pixels as they are: operations hand them on in it, since writing PNG again and again
// would cost more than the filter.

import CPNG
import FoundationEssentials

extension Picture {
  /// - Throws: `MaterialError` for a file that is missing, not a PNG, or too large.
  public init(png path: String) throws(MaterialError) {
    // The version tells libpng which layout this program was compiled with.
    var image = unsafe png_image()
    unsafe image.version = UInt32(PNG_IMAGE_VERSION)
    guard unsafe png_image_begin_read_from_file(&image, path) != 0 else {
      throw unsafe MaterialError("\(path): \(Self.message(of: image))")
    }
    defer { unsafe png_image_free(&image) }
    let (width, height) = unsafe (Int(image.width), Int(image.height))
    // Checked before memory is allocated for it.
    let probe = Picture.longestSide
    guard width <= probe, height <= probe else {
      throw MaterialError("\(path): \(width) x \(height) is more than \(probe) x \(probe)")
    }
    unsafe image.format = UInt32(PNG_FORMAT_FLAG_COLOR)
    var bytes = [UInt8](repeating: 0, count: width * height * 3)
    // Stands behind transparent pixels, which the result does not have.
    var black = png_color(red: 0, green: 0, blue: 0)
    guard unsafe png_image_finish_read(&image, &black, &bytes, 0, nil) != 0 else {
      throw unsafe MaterialError("\(path): \(Self.message(of: image))")
    }
    try self.init(width: width, height: height, bytes: bytes)
  }

  /// Writes the file as a whole or not at all.
  /// The draft has a name of its own, so that two attempts do not write one file.
  public func writePNG(to path: String) throws {
    let draft = "\(path).\(UInt32.random(in: 0 ... .max)).draft"
    var image = unsafe png_image()
    unsafe image.version = UInt32(PNG_IMAGE_VERSION)
    unsafe image.width = UInt32(width)
    unsafe image.height = UInt32(height)
    unsafe image.format = UInt32(PNG_FORMAT_FLAG_COLOR)
    guard unsafe png_image_write_to_file(&image, draft, 0, bytes, 0, nil) != 0 else {
      throw unsafe MaterialError("\(path): \(Self.message(of: image))")
    }
    try LocalFile.rename(draft, to: path)
  }

  /// libpng's error message: text in an array of C characters.
  private static func message(of image: png_image) -> String {
    unsafe withUnsafeBytes(of: image.message) { bytes in
      unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
  }

  /// - Throws: `MaterialError` for a file that `writePPM` has not written.
  public init(ppm path: String) throws {
    // Only the one form that `writePPM` makes: three numbers, and no comments.
    let file = try LocalFile.bytes(of: path)
    let head = file.prefix(64).split(
      maxSplits: 4, omittingEmptySubsequences: false, whereSeparator: { $0 == 10 || $0 == 32 })
    guard head.count == 5, Array(head[0]) == Array("P6".utf8),
      let width = Int(String(decoding: head[1], as: UTF8.self)),
      let height = Int(String(decoding: head[2], as: UTF8.self))
    else { throw MaterialError("\(path) is not a PPM file of ours") }
    try self.init(width: width, height: height, bytes: Array(file[head[4].startIndex...]))
  }

  /// Lines in the order of the picture, three bytes a pixel.
  public func writePPM(to path: String) throws {
    try LocalFile.write(Array("P6\n\(width) \(height)\n255\n".utf8) + bytes, to: path)
  }
}
