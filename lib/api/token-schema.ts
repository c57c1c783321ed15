import * as v from 'valibot'
import type { Token } from '../records/schema/index.ts'
import { timestamp } from './time.ts'

export const AccessToken = v.object({
  id: v.number(),
  name: v.string(),
  /** The token itself in the answer that makes it, and never again. */
  sha1: v.string(),
  token_last_eight: v.string(),
  scopes: v.array(v.string()),
  created_at: v.string(),
})
export type AccessToken = v.InferOutput<typeof AccessToken>

export const accessTokenResource = (token: Token, secret = ''): AccessToken => ({
  id: token.id,
  name: token.name,
  sha1: secret,
  token_last_eight: token.lastEight,
  scopes: token.scopes,
  created_at: timestamp(token.createdAt),
})
