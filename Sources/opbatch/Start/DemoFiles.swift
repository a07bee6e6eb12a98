// The demo's input: the licence texts of Debian, and the graph that counts their words.

import FoundationEssentials
import OpClusterPresentation
import OpClusterSystem

struct DemoFiles {
  var paths: [String]
  var bytes: Int

  /// Maximum number of texts; keeps three workers busy for a second or two.
  private static let most = 60
  /// Larger texts would make one element last longer than all others together.
  private static let largest = 400_000

  /// Finds texts and writes their list into the graph's folder.
  static func collect(into folder: String) throws(Failure) -> DemoFiles {
    var files = DemoFiles(paths: [], bytes: 0)
    files.add(folder: "/usr/share/common-licenses", file: nil)
    files.add(folder: "/usr/share/doc", file: "copyright")
    // Element 3 fails on purpose, so that it must exist.
    guard files.paths.count >= 3 else {
      throw Failure(
        .inputOutput, code: "no_files",
        "the demo counts the texts in /usr/share/common-licenses and /usr/share/doc, "
          + "and there are too few here",
        hint: "'opbatch init hello' prints another graph to try")
    }
    let list = files.paths.joined(separator: "\n") + "\n"
    guard Descriptor.replace(folder + "/files.txt", with: Array(list.utf8)) == .written else {
      throw Failure(.inputOutput, code: "cannot_write", "cannot write \(folder)/files.txt")
    }
    return files
  }

  /// Adds the files of a folder, or one file of each of its folders.
  private mutating func add(folder: String, file: String?) {
    // A folder that is not there adds nothing: other systems have other folders.
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    // Sorted, so that two runs on one machine count the same texts.
    for name in names.sorted() where paths.count < Self.most {
      let path = file.map { "\(folder)/\(name)/\($0)" } ?? "\(folder)/\(name)"
      guard case .success(let content) = Descriptor.contents(of: path, limit: Self.largest),
        // A name with a line end would be two names in the list.
        content.count > 200, !path.contains("\n")
      else { continue }
      paths.append(path)
      bytes += content.count
    }
  }

  /// `count` maps, `merge` reduces, `report` reads. Element 3 fails in its first attempt. `rare`
  /// fails and may fail, so `report` waits for its end, not for its success.
  static let manifest = #"""
    version: 1
    name: word-count
    operations:
      count:
        array: {lines: files.txt}
        shell: bash                 # a pipe fails when any part of it fails
        run: |
          if [ "$OP_INDEX" = 3 ] && [ "$OP_ATTEMPT" = 1 ]; then
            echo "a failure on purpose; the next attempt goes well" >&2
            exit 75
          fi
          LC_ALL=C tr -cs 'A-Za-z' '\n' < ${{ item }} | LC_ALL=C tr 'A-Z' 'a-z' |
            LC_ALL=C sort | uniq -c > part-${{ index }}.txt
        retry: {max: 2, reasons: ["exit:75"], backoff: 100ms}
      merge:
        needs: count
        run: |
          awk '{n[$2] += $1} END {for (w in n) print n[w], w}' part-*.txt > words.txt
          echo "words=$(awk '{s += $1} END {print s}' words.txt)" >> "$OP_OUTPUT"
          echo "different=$(wc -l < words.txt)" >> "$OP_OUTPUT"
        outputs: [words, different]
      top:
        needs: merge
        shell: bash
        run: LC_ALL=C sort -k1,1nr -k2 words.txt | awk 'length($2) > 3 && n++ < 10' > top.txt
      rare:
        needs: merge
        run: grep -q ' abracadabra$' words.txt
        allow_failure: true
      report:
        needs: {top: succeeded, rare: finished, merge: succeeded}
        run: |
          echo ${{ needs.merge.outputs.words }} words, \
            ${{ needs.merge.outputs.different }} different
          cat top.txt

    """#
}
