/** One intended difference between Allot and a real Forgejo. */
export interface Difference {
  /** What Allot does, for a reader of the documentation. */
  title: string
  /** Why: the document, the contract, or the reason of the decision. */
  reason: string
  /** The recordings that differ, by family: ids in which `*` matches any text. */
  records: Record<string, string[]>
  /** The differences, in which `*` matches any text. Each must occur in each family that is named. */
  lines: string[]
}
