// Runs a workload of the cost tests twice, and the second time one part of it through a function
// with a name: valgrind's callgrind counts the instructions of that.
//
//   CostProgram WORKLOAD PART [small]

import CostWorld

let words = CommandLine.arguments.dropFirst()
guard (2...3).contains(words.count), let workload = words.first.flatMap(Workload.init(rawValue:)),
  let part = words.dropFirst().first.flatMap(Part.init(rawValue:)),
  let size = words.count == 2 ? .usual : words.last.flatMap(WorkloadSize.init(rawValue:))
else { fatalError("expected a workload, a part and perhaps a size") }
var world = CostWorld()
// The first fills what is kept between turns.
for countedPart in [nil, part] {
  world.countedPart = countedPart
  for graph in workload.graphs(size) { world.submit(graph) }
  world.run()
}
// Whoever counts divides by it.
print(workload.operations(size))
guard world.endedGraphs == 2 * workload.graphs(size).count else {
  fatalError("not all graphs ended")
}
