import * as v from 'valibot'
import { type Account, Visibility } from '../records/schema/index.ts'
import { userResource } from './user-schema.ts'

export const Organization = v.object({
  id: v.number(),
  name: v.string(),
  full_name: v.string(),
  email: v.string(),
  avatar_url: v.string(),
  description: v.string(),
  website: v.string(),
  location: v.string(),
  visibility: Visibility,
  username: v.string(),
  /** In lists for administrators alone: 0 for an organization whose last owner has left. */
  owners_count: v.optional(v.number()),
})
export type Organization = v.InferOutput<typeof Organization>

export const organizationResource = (account: Account, baseUrl: string, owners?: number): Organization => ({
  id: account.id,
  name: account.name,
  full_name: account.fullName,
  email: account.email,
  avatar_url: userResource(account, null, baseUrl).avatar_url,
  description: account.description,
  website: account.website,
  location: account.location,
  visibility: account.visibility,
  username: account.name,
  ...(owners === undefined ? {} : { owners_count: owners }),
})
