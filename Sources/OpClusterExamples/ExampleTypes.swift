// Shows how a program names its operation types once: the worker gives this list to the cluster.

public import OpCluster

/// The operation types of all examples, for workers.
public let exampleTypes: [any RegisteredOperation.Type] = [
  Download.self, AddLater.self, Total.self, Sum.self, LoadImage.self, TiltShift.self,
  WriteImage.self, ContactSheet.self, Unpack.self,
]
