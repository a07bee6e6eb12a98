// The rows of section network.

let networkRows: [FaultRow] = []
