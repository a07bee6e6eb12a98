// What `opbatch` writes to a file of its user: the former content stays until the new one is whole.

import FoundationEssentials
import Glibc
import Testing

@testable import opbatch

@Suite struct ReplaceTests {
  private let folder = "/tmp/opr-\(String(UInt32.random(in: 0 ... .max), radix: 36))"

  init() throws { try #require(unsafe mkdir(folder, 0o700) == 0) }

  private func content(_ name: String) -> String? {
    FileManager.default.contents(atPath: "\(folder)/\(name)").map {
      String(decoding: $0, as: UTF8.self)
    }
  }

  private func names() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
  }

  @Test func aFileIsMadeAndReplaced() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    #expect(Descriptor.replace("\(folder)/a", with: Array("one".utf8)) == .written)
    #expect(unsafe chmod("\(folder)/a", 0o640) == 0)
    #expect(unsafe symlink("a", "\(folder)/link") == 0)
    #expect(Descriptor.replace("\(folder)/link", with: Array("two".utf8)) == .written)
    #expect(content("a") == "two")
    #expect(try names() == ["a", "link"])
    var found = stat()
    #expect(unsafe lstat("\(folder)/link", &found) == 0 && found.st_mode & S_IFMT == S_IFLNK)
    #expect(unsafe stat("\(folder)/a", &found) == 0 && found.st_mode & 0o777 == 0o640)
  }

  /// The new file cannot be made, since a folder stands in its place.
  @Test func aFailedWriteLeavesTheFormerOne() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    #expect(Descriptor.replace("\(folder)/a", with: Array("one".utf8)) == .written)
    let fresh = "\(folder)/a.\(getpid()).new"
    #expect(unsafe mkdir(fresh, 0o700) == 0)
    guard case .failed = Descriptor.replace("\(folder)/a", with: Array("two".utf8)) else {
      Issue.record("it was written")
      return
    }
    #expect(content("a") == "one")
    guard case .failed(let code) = Descriptor.replace("\(folder)/no/a", with: []) else {
      Issue.record("there is no such folder")
      return
    }
    #expect(code == ENOENT)
  }

  /// A link to what is not there yet is followed, and a folder may take no other file.
  @Test func inPlaceWhereItMustBe() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    #expect(unsafe symlink("later", "\(folder)/link") == 0)
    #expect(Descriptor.replace("\(folder)/link", with: Array("one".utf8)) == .written)
    #expect(content("later") == "one")
    #expect(try names() == ["later", "link"])
    // Root may write everywhere, and replaces it.
    #expect(unsafe chmod(folder, 0o500) == 0)
    #expect(Descriptor.replace("\(folder)/later", with: Array("two".utf8)) == .written)
    #expect(unsafe chmod(folder, 0o700) == 0)
    #expect(content("later") == "two")
  }

  /// What has no content to keep is written in place.
  @Test func aDeviceStaysADevice() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    #expect(Descriptor.replace("/dev/null", with: Array("one".utf8)) == .written)
    #expect(Descriptor.replace("/dev/full", with: Array("one".utf8)) == .failed(ENOSPC))
    var found = stat()
    #expect(unsafe stat("/dev/null", &found) == 0 && found.st_mode & S_IFMT == S_IFCHR)
  }
}
