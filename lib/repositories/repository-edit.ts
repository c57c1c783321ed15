import { savedMembers } from '../records/edits.ts'

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
