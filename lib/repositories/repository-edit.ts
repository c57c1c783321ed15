import { savedMembers, withEdit } from '../records/edits.ts'
import type { Repository } from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import { checkRepositoryName } from './names.ts'
import { refuseTaken } from './new-repository.ts'
import { addRedirect } from './redirects.ts'

export interface RepositoryEdit {
  /** Name; the former name redirects to the new one. */
  name?: string | undefined
  /** Description of the repository. */
  description?: string | undefined
  /** URL. */
  website?: string | undefined
  /** Whether only accounts with a right on it and administrators can see it. */
  private?: boolean | undefined
  /** Whether it is read-only. */
  archived?: boolean | undefined
  /** Branch that HEAD names. */
  defaultBranch?: string | undefined
}

const SAVED: Readonly<Record<keyof RepositoryEdit, true>> = {
  name: true,
  description: true,
  website: true,
  private: true,
  archived: true,
  defaultBranch: true,
}

/** The members that are saved; a host may pass others along. */
export const editOf = (edit: RepositoryEdit): RepositoryEdit => savedMembers(edit, SAVED)

/** What an edit does, as events report it: it can rename the repository, and change other members too. */
export const actionsOf = (before: Repository, { name = before.name, ...rest }: RepositoryEdit) => [
  ...(name === before.name ? [] : (['renamed'] as const)),
  ...(withEdit(before, rest) === before ? [] : (['edited'] as const)),
]

export const rename = async (tx: WriteContext, before: Repository, after: Repository): Promise<void> => {
  checkRepositoryName(after.name)
  if (after.name.toLowerCase() !== before.name.toLowerCase()) await refuseTaken(tx, before.owner, after.name)
  await addRedirect(tx, before, after)
}
