/**
 * Rights that come with a copied account, membership or repository. The migration log stores these texts, so
 * they must not change.
 */
export const GRANTS = {
  admin: 'administrator',
  active: 'active',
  everyone: 'everyone may see it',
  signedIn: 'everyone signed in may see it',
  owner: 'the organization is owned',
  writable: 'it is not archived',
} as const

/**
 * What the report says of those whose right is revoked here, or is on one side only: beginnings of sentences
 * that end with their names.
 */
interface GrantSentences {
  readonly revoked: string
  readonly onlyHere: string
  readonly onlyAtSource: string
}

/** A right that a migration can revoke by itself. */
export type Grant = (typeof GRANTS)[keyof typeof GRANTS]

export const GRANT_SENTENCES: Record<Grant, GrantSentences> = {
  [GRANTS.admin]: {
    revoked: 'these users are no longer administrators of this server',
    onlyHere: 'these users are administrators here, but not at the source',
    onlyAtSource: 'these users are administrators at the source, but not here',
  },
  [GRANTS.active]: {
    revoked: 'these users can no longer sign in to this server',
    onlyHere: 'these users can sign in here, but not at the source, or only as restricted users',
    onlyAtSource: 'these users can sign in at the source, but not here',
  },
  [GRANTS.everyone]: {
    revoked: 'people without an account on this server can no longer see',
    onlyHere: 'people without an account can see these here, but not at the source',
    onlyAtSource: 'people without an account can see these at the source, but not here',
  },
  [GRANTS.signedIn]: {
    revoked: 'users without a right of their own can no longer see',
    onlyHere: 'users without a right of their own can see these here, but not at the source',
    onlyAtSource: 'users without a right of their own can see these at the source, but not here',
  },
  [GRANTS.owner]: {
    revoked: 'these users no longer own the organization in parentheses',
    onlyHere: 'these users own the organization in parentheses here, but not at the source',
    onlyAtSource: 'these users own the organization in parentheses at the source, but not here',
  },
  [GRANTS.writable]: {
    revoked: 'these repositories are archived now, so that nobody can change them',
    onlyHere: 'these repositories are archived at the source, but not here',
    onlyAtSource: 'these repositories are archived here, but not at the source',
  },
}
