import { answers } from './requests.ts'
import { keys } from './keys.ts'
import { markdown } from './markdown.ts'
import { quota } from './quota.ts'
import { repositories } from './repositories.ts'
import { searches } from './searches.ts'
import type { Difference } from './table.ts'

export type { Difference } from './table.ts'

/** The table of intended differences between Allot and a real Forgejo. */
export const intendedDifferences: readonly Difference[] = [
  ...answers,
  ...quota,
  ...markdown,
  ...keys,
  ...repositories,
  ...searches,
]
