/** Where a difference shows. */
export interface DifferenceCase {
  /** The recordings that differ, by family: ids in which `*` matches any text. */
  readonly records: Record<string, string[]>
  /** The lines of the comparison, in which `*` matches any text. Each must occur in each family. */
  readonly lines: string[]
}

/** One intended difference between Allot and Forgejo. */
export interface Difference extends DifferenceCase {
  /** The behavior of Allot, for a reader of the documentation. */
  readonly title: string
  /** Why: the specification, or the reason of the decision. */
  readonly reason: string
  /** More cases, where other recordings differ in other lines. */
  readonly also?: readonly DifferenceCase[]
}
