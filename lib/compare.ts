/** The order of two numbers, or of two texts by their code units: for `Array.prototype.sort`. */
export const compare = <T extends string | number>(left: T, right: T): number =>
  left < right ? -1 : left > right ? 1 : 0
