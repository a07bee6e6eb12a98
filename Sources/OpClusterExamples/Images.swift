// Shows operations that hand something on: load, tilt-shift, write for every picture of a folder,
// and a contact sheet of all of them. What is handed on is found by its type.

import ExampleMaterials
public import OpCluster

/// A picture as pixels in a file. Outputs travel through the coordinator and are small; pixels are
/// not, and stay in a folder that all workers share.
struct PixelFile: Codable, Hashable, Sendable {
  var path: String
  var width: Int
  var height: Int
  var digest: String

  init(_ picture: Picture, savedAs path: String) throws {
    try picture.writePPM(to: path)
    self.path = path
    (width, height) = (picture.width, picture.height)
    digest = LocalFile.digest(of: picture.bytes)
  }

  func picture() throws -> Picture {
    let picture = try Picture(ppm: path)
    guard LocalFile.digest(of: picture.bytes) == digest else {
      throw MaterialError("\(path) is not what was left there")
    }
    return picture
  }
}

/// A picture that is done: a PNG file.
public struct PictureFile: Codable, Hashable, Sendable {
  public var path: String
  public var width: Int
  public var height: Int
}

struct LoadImage: RegisteredOperation {
  static let typeName = "example.load-image"
  var path: String
  /// Where the pixels go.
  var pixels: String

  func main(_ context: OperationContext) async throws -> PixelFile {
    try PixelFile(Picture(png: path), savedAs: pixels)
  }
}

struct TiltShift: RegisteredOperation {
  static let typeName = "example.tilt-shift"
  var focus = 0.55
  var radius = 9.0
  /// Nobody sets it: it is what the first dependency left that left pixels.
  @RequiredInput var input: PixelFile

  func main(_ context: OperationContext) async throws -> PixelFile {
    let picture = try input.picture().tiltShifted(focus: focus, radius: radius) {
      try context.checkCancellation()
    }
    return try PixelFile(picture, savedAs: input.path + ".shifted")
  }
}

struct WriteImage: RegisteredOperation {
  static let typeName = "example.write-image"
  var path: String
  @RequiredInput var input: PixelFile

  func main(_ context: OperationContext) async throws -> PictureFile {
    let picture = try input.picture()
    try picture.writePNG(to: path)
    return PictureFile(path: path, width: picture.width, height: picture.height)
  }
}

/// All pictures that were written, side by side.
struct ContactSheet: RegisteredOperation {
  static let typeName = "example.contact-sheet"
  var path: String

  func main(_ context: OperationContext) async throws -> PictureFile {
    let files = try context.outputs(of: "write", as: PictureFile.self)
    let sheet = Picture(contactSheetOf: try files.map { try Picture(png: $0.path) })
    try sheet.writePNG(to: path)
    return PictureFile(path: path, width: sheet.width, height: sheet.height)
  }
}

/// Makes a miniature world of every PNG file in a folder.
///
/// - Returns: The pictures that were written, in order of their names, and the contact sheet.
public func tiltShiftImages(
  in folder: String, into output: String, on cluster: OperationCluster
) async throws -> (pictures: [PictureFile], contactSheet: PictureFile) {
  let queue = ClusterOperationQueue(on: cluster)
  let sheet = ClusterOperation(ContactSheet(path: "\(output)/contact-sheet.png"))
  var operations: [ClusterOperation] = [sheet]
  var writes: [ClusterOperation] = []

  for name in try LocalFile.names(in: folder) where name.hasSuffix(".png") {
    let load = ClusterOperation(
      LoadImage(path: "\(folder)/\(name)", pixels: "\(output)/pixels/\(name)"), name: "load")
    let shift = ClusterOperation(TiltShift(), name: "shift")
    let write = ClusterOperation(WriteImage(path: "\(output)/\(name)"), name: "write")
    try shift.addDependency(load, when: .succeeded)
    try write.addDependency(shift, when: .succeeded)
    // However it ends: one picture that cannot be read does not cost the sheet.
    try sheet.addDependency(write)
    writes.append(write)
    operations += [load, shift, write]
  }
  try await queue.addOperations(operations)

  let contactSheet = try await sheet.output(of: ContactSheet.self)
  var pictures: [PictureFile] = []
  for write in writes {
    if case .value(let output) = try await write.result() { pictures.append(try output.decode()) }
  }
  return (pictures, contactSheet)
}
