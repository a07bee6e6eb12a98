// The rows of section clock.

let clockRows: [FaultRow] = []
