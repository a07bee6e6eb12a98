// The rows of section disk.

let diskRows: [FaultRow] = []
