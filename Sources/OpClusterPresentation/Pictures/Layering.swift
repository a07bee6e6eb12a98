// Lays out the stages of a drawing: layers by the longest path, the order within a layer by the
// barycentre of the neighbours, positions as near to the neighbours as the widths allow.
// Text and SVG share it: widths are columns for one, and pixels for the other. The method is
// Sugiyama's.

/// A layered graph. An edge over several layers gets a bend in each layer between.
struct Layering {
  /// A stage, or the bend of a long edge.
  struct Node {
    /// Position of the stage; nil for a bend.
    var stage: Int?
    var layer: Int
    /// Joined nodes in the layers above and below.
    var above: [Int] = []
    var below: [Int] = []
    var width = 0.0
    /// The middle of the node.
    var x = 0.0
  }
  private(set) var nodes: [Node]
  /// Nodes from left to right.
  private(set) var layers: [[Int]] = []
  /// For each edge of the graph its nodes from top to bottom.
  private(set) var routes: [[Int]] = []
  /// Edges that close a cycle run against the direction of the drawing.
  private(set) var turned: [Bool] = []

  /// More sweeps hardly change an order.
  private static let sweeps = 8

  /// `width` returns the width of a stage, `bend` is the width of a bend, `gap` the space between
  /// nodes.
  init(_ graph: StageGraph, bend: Double, gap: Double, width: (Int) -> Double) {
    nodes = graph.stages.indices.map { Node(stage: $0, layer: 0, width: width($0)) }
    turned = Layering.backEdges(graph)
    assignLayers(graph)
    lead(graph, bend: bend)
    fillLayers()
    for sweep in 0..<Layering.sweeps { order(downwards: sweep % 2 == 0) }
    place(gap: gap)
  }

  /// The total width, up to the right edge of the last node.
  var width: Double { nodes.reduce(0) { max($0, $1.x + $1.width / 2) } }

  /// Finds the edges that close a cycle, by a depth-first search without recursion.
  private static func backEdges(_ graph: StageGraph) -> [Bool] {
    var leaving = Array(repeating: [Int](), count: graph.stages.count)
    for (position, edge) in graph.edges.enumerated() { leaving[edge.from].append(position) }
    var result = Array(repeating: false, count: graph.edges.count)
    var isOpen = Array(repeating: false, count: graph.stages.count)
    var isDone = isOpen
    var next = Array(repeating: 0, count: graph.stages.count)
    for root in graph.stages.indices where !isDone[root] {
      var path = [root]
      isOpen[root] = true
      while let stage = path.last {
        guard next[stage] < leaving[stage].count else {
          isOpen[stage] = false
          isDone[stage] = true
          path.removeLast()
          continue
        }
        let edge = leaving[stage][next[stage]]
        next[stage] += 1
        let target = graph.edges[edge].to
        if isOpen[target] {
          result[edge] = true
        } else if !isDone[target] {
          isOpen[target] = true
          path.append(target)
        }
      }
    }
    return result
  }

  /// An edge that closes a cycle is drawn upside down, so that layers exist.
  private func ends(_ graph: StageGraph, _ edge: Int) -> (top: Int, bottom: Int) {
    let (from, to) = (graph.edges[edge].from, graph.edges[edge].to)
    return turned[edge] ? (to, from) : (from, to)
  }

  /// Puts each stage one layer below the lowest stage that it waits for.
  private mutating func assignLayers(_ graph: StageGraph) {
    var waiting = Array(repeating: 0, count: graph.stages.count)
    var leaving = Array(repeating: [Int](), count: graph.stages.count)
    for edge in graph.edges.indices {
      let (top, bottom) = ends(graph, edge)
      leaving[top].append(bottom)
      waiting[bottom] += 1
    }
    var free = graph.stages.indices.filter { waiting[$0] == 0 }
    var at = 0
    while at < free.count {
      for bottom in leaving[free[at]] {
        nodes[bottom].layer = max(nodes[bottom].layer, nodes[free[at]].layer + 1)
        waiting[bottom] -= 1
        if waiting[bottom] == 0 { free.append(bottom) }
      }
      at += 1
    }
  }

  /// Adds the bends and joins adjacent layers.
  private mutating func lead(_ graph: StageGraph, bend: Double) {
    for edge in graph.edges.indices {
      let (top, bottom) = ends(graph, edge)
      var route = [top]
      for layer in (nodes[top].layer + 1)..<max(nodes[bottom].layer, nodes[top].layer + 1) {
        nodes.append(Node(stage: nil, layer: layer, width: bend))
        route.append(nodes.count - 1)
      }
      route.append(bottom)
      for (upper, lower) in zip(route, route.dropFirst()) {
        nodes[upper].below.append(lower)
        nodes[lower].above.append(upper)
      }
      routes.append(route)
    }
  }

  /// Nodes are in the order of the stages at first, bends behind them.
  private mutating func fillLayers() {
    let count = nodes.reduce(0) { max($0, $1.layer + 1) }
    layers = Array(repeating: [], count: count)
    for node in nodes.indices { layers[nodes[node].layer].append(node) }
  }

  /// Sorts each layer by the mean position of the neighbours in the previous layer.
  private mutating func order(downwards: Bool) {
    var place = Array(repeating: 0.0, count: nodes.count)
    for layer in layers { for (at, node) in layer.enumerated() { place[node] = Double(at) } }
    let sequence = downwards ? Array(layers.indices) : layers.indices.reversed()
    for layer in sequence {
      var wishes: [(node: Int, wish: Double)] = []
      for node in layers[layer] {
        let neighbours = downwards ? nodes[node].above : nodes[node].below
        let sum = neighbours.reduce(0) { $0 + place[$1] }
        let wish = neighbours.isEmpty ? place[node] : sum / Double(neighbours.count)
        wishes.append((node, wish))
      }
      let sorted = wishes.enumerated().sorted {
        ($0.element.wish, $0.offset) < ($1.element.wish, $1.offset)
      }
      layers[layer] = sorted.map(\.element.node)
      for (at, node) in layers[layer].enumerated() { place[node] = Double(at) }
    }
  }

  /// Packs the nodes, then moves them towards the neighbours above and below in turn.
  private mutating func place(gap: Double) {
    for layer in layers {
      var x = 0.0
      for node in layer {
        nodes[node].x = x + nodes[node].width / 2
        x += nodes[node].width + gap
      }
    }
    for sweep in 0..<Layering.sweeps {
      let downwards = sweep % 2 == 0
      for layer in downwards ? Array(layers.indices) : layers.indices.reversed() {
        settle(layers[layer], gap: gap, downwards: downwards)
      }
    }
    let left = nodes.reduce(Double.infinity) { min($0, $1.x - $1.width / 2) }
    for node in nodes.indices { nodes[node].x -= left }
  }

  /// Finds the positions nearest to the wishes that keep order and gaps: overlapping neighbours are
  /// joined to a block that moves as one.
  private mutating func settle(_ layer: [Int], gap: Double, downwards: Bool) {
    struct Block {
      var sum: Double
      var count: Double
      var first: Int
      var mean: Double { sum / count }
    }
    var offsets: [Double] = []
    var blocks: [Block] = []
    var offset = 0.0
    for (at, node) in layer.enumerated() {
      if at > 0 { offset += (nodes[layer[at - 1]].width + nodes[node].width) / 2 + gap }
      offsets.append(offset)
      let neighbours = downwards ? nodes[node].above : nodes[node].below
      let sum = neighbours.reduce(0) { $0 + nodes[$1].x }
      let wish = neighbours.isEmpty ? nodes[node].x : sum / Double(neighbours.count)
      blocks.append(Block(sum: wish - offset, count: 1, first: at))
      while blocks.count > 1, blocks[blocks.count - 2].mean >= blocks[blocks.count - 1].mean {
        let last = blocks.removeLast()
        blocks[blocks.count - 1].sum += last.sum
        blocks[blocks.count - 1].count += last.count
      }
    }
    for (at, block) in blocks.enumerated() {
      let end = at + 1 < blocks.count ? blocks[at + 1].first : layer.count
      for member in block.first..<end { nodes[layer[member]].x = block.mean + offsets[member] }
    }
  }
}
