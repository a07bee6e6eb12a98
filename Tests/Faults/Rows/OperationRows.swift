// The rows of what operations themselves do: F15 to F20.

let operationRows: [FaultRow] = []
