import { accounts } from './accounts.ts'
import { keys } from './keys.ts'
import { markdown } from './markdown.ts'
import { paging } from './paging.ts'
import { quota } from './quota.ts'
import { repositories } from './repositories.ts'
import { requests } from './requests.ts'
import { searches } from './searches.ts'
import type { Difference, DifferenceCase } from './table.ts'

/** The intended differences between Allot and Forgejo, one row of docs/differences.md each. */
export const intendedDifferences: readonly Difference[] = [
  ...requests,
  ...paging,
  ...accounts,
  ...repositories,
  ...searches,
  ...quota,
  ...keys,
  ...markdown,
]

/** Every case of every difference, with its title. */
export const differenceCases: readonly (DifferenceCase & { title: string })[] = intendedDifferences.flatMap(
  ({ title, records, lines, also = [] }) =>
    [{ records, lines }, ...also].map((difference) => ({ title, ...difference })),
)
