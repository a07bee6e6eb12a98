// Shows operations that hand something on: load, tilt-shift, write for every picture of a folder,
// and a contact sheet of all of them. What is handed on are the pictures themselves, of some
// megabytes each: they go from the worker that made them to the one that needs them, and nobody
// names a file for them. They are found by their type.

import ExampleMaterials
public import OpCluster

/// A picture that is done: a PNG file.
public struct PictureFile: Codable, Hashable, Sendable {
  public var path: String
  public var width: Int
  public var height: Int
}

struct LoadImage: RegisteredOperation {
  static let typeName = "example.load-image"
  /// Only the worker that loads it has to see it.
  var path: String

  func main(_ context: OperationContext) async throws -> Picture { try Picture(png: path) }
}

struct TiltShift: RegisteredOperation {
  static let typeName = "example.tilt-shift"
  var focus = 0.55
  var radius = 9.0
  /// Nobody sets it: it is what the first dependency left that left a picture.
  @RequiredInput var input: Picture

  func main(_ context: OperationContext) async throws -> Picture {
    try input.tiltShifted(focus: focus, radius: radius) { try context.checkCancellation() }
  }
}

struct WriteImage: RegisteredOperation {
  static let typeName = "example.write-image"
  var path: String
  @RequiredInput var input: Picture

  func main(_ context: OperationContext) async throws -> PictureFile {
    try input.writePNG(to: path)
    return PictureFile(path: path, width: input.width, height: input.height)
  }
}

/// All pictures that were made, side by side.
struct ContactSheet: RegisteredOperation {
  static let typeName = "example.contact-sheet"
  var path: String

  func main(_ context: OperationContext) async throws -> PictureFile {
    let sheet = Picture(contactSheetOf: try context.outputs(of: "shift", as: Picture.self))
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
    let load = ClusterOperation(LoadImage(path: "\(folder)/\(name)"), name: "load")
    let shift = ClusterOperation(TiltShift(), name: "shift")
    let write = ClusterOperation(WriteImage(path: "\(output)/\(name)"), name: "write")
    try shift.addDependency(load, when: .succeeded)
    try write.addDependency(shift, when: .succeeded)
    // However it ends: one picture that cannot be read does not cost the sheet.
    try sheet.addDependency(shift)
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
