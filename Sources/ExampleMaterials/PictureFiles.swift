// Pictures in files: PNG by libpng's simplified API. The only file that uses libpng. Any thread.

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

  /// Writes the file as a whole or not at all, and makes the folders that are missing.
  /// The draft has a name of its own, so that two attempts do not write one file.
  public func writePNG(to path: String) throws {
    try LocalFile.makeFolder(ofFile: path)
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
}
