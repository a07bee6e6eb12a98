// The rows of section hostile.

let hostileRows: [FaultRow] = []
