// Arranges pictures side by side on one sheet. Pure; any thread.
// `Images.swift` of OpClusterExamples makes one when all pictures are there.

extension Picture {
  /// Small copies in rows of three, or of two where that leaves no gap; an empty sheet for none.
  public init(contactSheetOf pictures: [Picture], thumbnailWidth: Int = 280) {
    // Pixels around and between the pictures.
    let margin = 10
    let columns = [2, 4].contains(pictures.count) ? 2 : max(min(pictures.count, 3), 1)
    let thumbnails = pictures.map { $0.scaled(toWidth: thumbnailWidth) }
    let rows = stride(from: 0, to: thumbnails.count, by: columns).map { start in
      thumbnails[start..<min(start + columns, thumbnails.count)]
    }
    // A row is as high as its highest picture.
    let height = rows.reduce(margin) { $0 + ($1.map(\.height).max() ?? 0) + margin }
    self.init(
      width: margin + columns * (thumbnailWidth + margin), height: height,
      filledWith: Colour(34, 36, 40))
    var top = margin
    for row in rows {
      for (place, thumbnail) in row.enumerated() {
        paste(thumbnail, atX: margin + place * (thumbnailWidth + margin), y: top)
      }
      top += (row.map(\.height).max() ?? 0) + margin
    }
  }
}
