// `opbatch init`: writes a first manifest to edit. Tests compile each example as it stands, so that
// a change of the manifest's language shows here. The examples go from the least to a whole
// workflow; each shows what the one before did not.

import ArgumentParser

/// Needs no cluster. The examples run as they are only where their programs are installed; `hello`
/// and `array` need a shell and awk alone.
struct Initialize: Command {
  static let configuration = CommandConfiguration(
    commandName: "init", abstract: "Print a commented manifest to begin with.",
    discussion: "Example: opbatch init array > graph.yaml")

  /// In the order in which one learns. A name is a word of the command line, so that it cannot
  /// change.
  enum Example: String, CaseIterable, ExpressibleByArgument {
    case hello, array, bio, images
  }

  @Argument(help: "Which one.") var example: Example = .hello
  @OptionGroup(title: "Common options") var global: GlobalOptions

  /// To stdout and never to a file: nothing of the user's is overwritten. `-o` changes nothing.
  func perform(_ console: Console) async throws -> ExitStatus {
    try console.write(example.text)
    return .success
  }
}

extension Initialize.Example {
  /// The comments inside are for the reader of a manifest, so that they say what a key does.
  var text: String {
    switch self {
    case .hello: Self.helloText
    case .array: Self.arrayText
    case .bio: Self.bioText
    case .images: Self.imagesText
    }
  }

  // The least: two operations and one dependency.
  private static let helloText = #"""
    # Two operations; the second waits until the first has succeeded.
    version: 1
    name: hello
    operations:
      make:
        run: seq 1 1000 > numbers.txt
      sum:
        needs: make                 # or several: [make, other]
        run: awk '{s += $1} END {print s}' numbers.txt

    """#

  // An array, parameters, a bound on parallelism and retries.
  private static let arrayText = #"""
    # An array: one operation for each element, then one that waits for all of them.
    # Submit with -p last=20 to change the parameter.
    version: 1
    name: squares
    params:
      last: {type: int, default: 10, help: The last number}
    operations:
      square:
        array: {range: "1-${{ params.last }}", max_parallel: 4}
        run: echo "$((OP_INDEX * OP_INDEX))" > square-${{ index }}.txt
        retry: 2                    # two more tries if it fails
        timeout: 1m
      total:
        needs: square               # all elements
        run: awk '{s += $1} END {print s}' square-*.txt

    """#

  // Element-by-element dependencies, resources, outputs, failures that stop nobody else.
  private static let bioText = #"""
    # Samples side by side; each step of a sample waits for its own sample only.
    version: 1
    name: samples
    params:
      samples: {default: samples.txt, help: One sample name per line}
    on_failure: continue            # a bad sample must not stop the others
    max_failures: 20%
    queues:
      io: {max_concurrent: 4, qos: utility}
    operations:
      trim:
        queue: io
        array: {lines: "${{ params.samples }}", max_parallel: 8}
        run: fastp -i raw/${{ item }}.fq.gz -o work/${{ item }}.fq.gz -w "$OP_CPUS"
        resources: {cpus: 4, memory: 4GiB}
      align:
        array: {lines: "${{ params.samples }}"}
        needs:
          trim: {when: succeeded, match: same-index}
        shell: bash                 # a pipe fails when any part of it fails
        run: |
          bwa mem -t "$OP_CPUS" ref.fa work/${{ item }}.fq.gz |
            samtools sort -o work/${{ item }}.bam
          echo "reads=$(samtools view -c work/${{ item }}.bam)" >> "$OP_OUTPUT"
        outputs: [reads]
        resources: {cpus: 16, memory: 32GiB}
        retry: {max: 2, reasons: [lost, oom], backoff: 30s}
        timeout: 6h
      count:
        needs: align
        run: featureCounts -T "$OP_CPUS" -a genes.gtf -o counts.tsv work/*.bam
        resources: {cpus: 8, memory: 16GiB}
    finally:
      report:                       # runs whatever happened
        run: [multiqc, -o, results, work]
        allow_failure: true

    """#

  // A matrix, a serial queue, and cleaning up after any outcome.
  private static let imagesText = #"""
    # A matrix: one operation for each combination, then one that publishes them in order.
    version: 1
    name: thumbnails
    params:
      source: {required: true, help: Folder of images}
    queues:
      publish: {max_concurrent: 1}  # a serial queue
    operations:
      thumbnail:
        matrix:
          width: [256, 1024]
          format: [jpg, webp]
        run: ./resize-all ${{ params.source }} ${{ matrix.width }} ${{ matrix.format }}
        resources: {cpus: 1, memory: 512MiB}
        timeout: 10m
      publish:
        queue: publish
        needs: thumbnail
        run: [rsync, -a, out/, "web:/srv/images/"]
        priority: high
        cancel: {signal: INT, grace: 5s}
      cleanup:
        needs: {publish: finished}  # however it ended
        run: rm -rf scratch

    """#
}
