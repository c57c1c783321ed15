import { isDeepStrictEqual } from 'node:util'
import { type EditOf, savedMembers, withEdit } from '../records/edits.ts'
import type { Repository } from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import { checkRepositoryName } from './names.ts'
import { refuseTaken } from './new-repository.ts'
import { addRedirect } from './redirects.ts'
import { normalTopics } from './topics.ts'

/** What an edit may change, besides the topics. */
const EDITED = ['name', 'description', 'website', 'private', 'archived', 'defaultBranch'] as const

/** Changes of a repository. A former name redirects to the new one. */
export interface RepositoryEdit extends EditOf<Repository, (typeof EDITED)[number]> {
  /** Topics that people find it by, or a function that makes them of the present ones. */
  topics?: readonly string[] | ((present: readonly string[]) => readonly string[]) | undefined
}

/**
 * The members that are saved; a host may pass others along.
 * @throws AllotError invalid for topics
 */
export const editOf = (before: Repository, edit: RepositoryEdit): Partial<Repository> => {
  const { topics: change } = edit
  const members = savedMembers(edit, EDITED)
  if (change === undefined) return members
  const { topics: present = [] } = before
  const topics = normalTopics(typeof change === 'function' ? change(present) : change)
  return isDeepStrictEqual(topics, present) ? members : { ...members, topics }
}

/** What an edit does, as events report it: it can rename the repository, and change other members too. */
export const actionsOf = (before: Repository, { name = before.name, ...rest }: Partial<Repository>) => [
  ...(name === before.name ? [] : (['renamed'] as const)),
  ...(withEdit(before, rest) === before ? [] : (['edited'] as const)),
]

export const rename = async (tx: WriteContext, before: Repository, after: Repository): Promise<void> => {
  checkRepositoryName(after.name)
  if (after.name.toLowerCase() !== before.name.toLowerCase()) await refuseTaken(tx, before.owner, after.name)
  await addRedirect(tx, before, after)
}
