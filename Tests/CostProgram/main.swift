// Runs a workload of the cost tests twice, and the second time one part of it through a function
// with a name: valgrind's callgrind counts the instructions of that.
//
//   CostProgram WORKLOAD PART

import CostWorld

let words = CommandLine.arguments.dropFirst()
guard words.count == 2, let workload = words.first.flatMap(Workload.init(rawValue:)),
  let part = words.last.flatMap(Part.init(rawValue:))
else { fatalError("expected a workload and a part") }
var world = CostWorld()
// The first fills what is kept between turns.
for countedPart in [nil, part] {
  world.countedPart = countedPart
  for graph in workload.graphs { world.submit(graph) }
  world.run()
}
guard world.endedGraphs == 2 * workload.graphs.count else { fatalError("not all graphs ended") }
