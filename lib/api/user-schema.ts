import { createHash } from 'node:crypto'
import * as v from 'valibot'
import type { Viewer } from '../accounts/access.ts'
import { noreplyAddress } from '../accounts/names.ts'
import { type Account, Visibility } from '../records/schema/index.ts'
import { timestamp } from './time.ts'

export const User = v.object({
  id: v.number(),
  login: v.string(),
  full_name: v.string(),
  email: v.string(),
  avatar_url: v.string(),
  html_url: v.string(),
  is_admin: v.boolean(),
  active: v.boolean(),
  created: v.string(),
  location: v.string(),
  website: v.string(),
  description: v.string(),
  visibility: Visibility,
  username: v.string(),
  followers_count: v.optional(v.number()),
  following_count: v.optional(v.number()),
  starred_repos_count: v.optional(v.number()),
})
export type User = v.InferOutput<typeof User>

/** How many relations of an account the viewer can list. */
export interface UserCounts {
  followers_count: number
  following_count: number
  starred_repos_count: number
}

/** @param baseUrl where the service is, without a slash at the end. */
export const userResource = (
  account: Account,
  viewer: Viewer,
  baseUrl: string,
  counts?: UserCounts,
): User => {
  const privy = viewer !== null && (viewer.admin || viewer.id === account.id)
  return {
    id: account.id,
    login: account.name,
    full_name: account.fullName,
    email: emailOf(account, privy, baseUrl),
    avatar_url: `${baseUrl}/avatars/${avatarHash(account)}`,
    html_url: `${baseUrl}/${account.name}`,
    is_admin: privy && account.admin,
    active: privy && account.active,
    created: timestamp(account.createdAt),
    location: account.location,
    website: account.website,
    description: account.description,
    visibility: account.visibility,
    username: account.name,
    ...counts,
  }
}

/** "A user's email is shown to the user and to administrators only, and else is <login>@noreply.<host>." */
const emailOf = (account: Account, privy: boolean, baseUrl: string): string => {
  if (account.kind === 'organization') return ''
  return privy && account.email !== '' ? account.email : noreplyAddress(account.name, hostOf(baseUrl))
}

export const hostOf = (baseUrl: string): string => new URL(baseUrl).hostname

/** Of the id and not of the email, which whoever guesses it could find confirmed. */
const avatarHash = (account: Account): string =>
  createHash('sha256').update(`account ${account.id}`).digest('hex')
