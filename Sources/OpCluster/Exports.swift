// One import is enough for a program that submits its own operation types. The words of
// OpClusterModel are not among it: some of their names (`Span`, `Event`) are common.

@_exported public import OpClusterOperations
