// A graph of more names than a picture can show, folded into layers: a bar for each, with what its
// operations are at. Costs the stages and the edges.

import OpClusterModel

func layerPicture(_ structure: GraphStructure, _ html: inout HTMLText) {
  let layers = stageLayers(StageGraph(structure))
  // Of more layers some neighbours share a bar.
  let mostBars = 40
  let perBar = max(1, (layers.count + mostBars - 1) / mostBars)
  let rowHeight = 18.0
  let bars = stride(from: 0, to: layers.count, by: perBar).map { first in
    let last = min(layers.count, first + perBar)
    var counts = StateCounts()
    for stage in layers[first..<last].joined() { counts.add(structure.stages[stage].counts) }
    return (first: first, last: last - 1, counts: counts)
  }
  let plot = Plot(left: 92, height: Double(bars.count) * rowHeight)
  let most = Double(max(1, bars.map(\.counts.total).max() ?? 1))
  plot.draw("The graph in layers, from the first to the last", foot: 4) { html in
    for (row, bar) in bars.enumerated() {
      let top = plot.top + Double(row) * rowHeight
      let name =
        bar.first == bar.last ? "layer \(bar.first + 1)" : "layers \(bar.first + 1)–\(bar.last + 1)"
      plot.label(name, at: (plot.left - 6, top + 12), "end", &html)
      var at = 0.0
      let rest =
        bar.counts.total
        &- min(
          bar.counts.total, bar.counts.parts.reduce(0) { $0.saturatingAdd($1.count) })
      for part in bar.counts.parts + [(rest, "waiting")] where part.count > 0 {
        let from = plot.x(at / most)
        at += Double(part.count)
        plot.box(
          x: from, y: top + 2, width: max(0.5, plot.x(at / most) - from), height: rowHeight - 5,
          part.kind, "\(name): \(shownCount(part.count)) \(part.kind)", &html)
      }
    }
  }(&html)
}

/// The stages of each layer: one is below all that it waits for. Those of a cycle are not shown.
func stageLayers(_ graph: StageGraph) -> [[Int]] {
  var awaited = Array(repeating: 0, count: graph.stages.count)
  var dependents = Array(repeating: [Int](), count: graph.stages.count)
  for edge in graph.edges {
    awaited[edge.to] += 1
    dependents[edge.from].append(edge.to)
  }
  var layers: [[Int]] = []
  var next = graph.stages.indices.filter { awaited[$0] == 0 }
  while !next.isEmpty {
    layers.append(next)
    var below: [Int] = []
    for stage in next {
      for dependent in dependents[stage] {
        awaited[dependent] -= 1
        if awaited[dependent] == 0 { below.append(dependent) }
      }
    }
    next = below
  }
  return layers
}
