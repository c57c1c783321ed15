/** Rights that come with a copied account, membership or repository. The migration log stores these texts, so they must not change. */
export const GRANTS = {
  admin: 'administrator',
  active: 'active',
  everyone: 'everyone may see it',
  signedIn: 'everyone signed in may see it',
  owner: 'the organization is owned',
  writable: 'it is not archived',
} as const

const LOST: Record<string, string> = {
  [GRANTS.admin]: 'these users are no longer administrators of this server',
  [GRANTS.active]: 'these users can no longer sign in to this server',
  [GRANTS.everyone]: 'people without an account on this server can no longer see',
  [GRANTS.signedIn]: 'users without a right of their own can no longer see',
  [GRANTS.owner]: 'these users no longer own the organization in parentheses',
  [GRANTS.writable]: 'these repositories are archived now, so that nobody can change them',
}

/** What the report says of those who lost a right: the beginning of a sentence that ends with their names. */
export const lostGrant = (grant: string): string => LOST[grant] ?? `these no longer have the right "${grant}"`
