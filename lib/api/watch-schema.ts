import * as v from 'valibot'
import type { Repository } from './repository-schema.ts'

export const WatchInfo = v.object({
  subscribed: v.boolean(),
  ignored: v.boolean(),
  reason: v.null(),
  created_at: v.string(),
  url: v.string(),
  repository_url: v.string(),
})
export type WatchInfo = v.InferOutput<typeof WatchInfo>

/** `created_at` is the repository's, as Gogs, Gitea and Forgejo have it. */
export const watchResource = (repository: Pick<Repository, 'created_at' | 'url'>): WatchInfo => ({
  subscribed: true,
  ignored: false,
  reason: null,
  created_at: repository.created_at,
  url: `${repository.url}/subscription`,
  repository_url: repository.url,
})
