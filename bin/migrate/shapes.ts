import * as v from 'valibot'

/**
 * The parts of the responses of Gitea, Forgejo and Allot that are used. Versions differ in which of the
 * optional ones they send.
 */

const text = v.nullish(v.string(), '')
const flag = v.nullish(v.boolean(), false)
const count = v.nullish(v.number(), 0)
/** Seconds since 1970; undefined when there is no time, which some versions send as the year 1. */
const time = v.pipe(
  v.nullish(v.string()),
  v.transform((sent) => {
    const seconds = Math.floor(Date.parse(sent ?? '') / 1000)
    return seconds > 0 ? seconds : undefined
  }),
)

const sourceId = v.pipe(v.number(), v.safeInteger(), v.minValue(1))

/** A user in a list. */
export const SourceLogin = v.object({ login: v.string() })
export type SourceLogin = v.InferOutput<typeof SourceLogin>

/** The common members of users and organizations. */
const profile = {
  id: sourceId,
  full_name: text,
  website: text,
  description: text,
  location: text,
  visibility: v.optional(v.picklist(['public', 'limited', 'private']), 'public'),
  /** Only a user has one. */
  created: time,
}

export const SourceUser = v.object({
  ...profile,
  login: v.string(),
  email: text,
  is_admin: flag,
  active: v.nullish(v.boolean(), true),
  prohibit_login: flag,
  restricted: flag,
  source_id: count,
})
export type SourceUser = v.InferOutput<typeof SourceUser>

export const SourceOrganization = v.object({ ...profile, email: text, name: v.string() })
export type SourceOrganization = v.InferOutput<typeof SourceOrganization>

/** What users and organizations have in common. */
export type SourceProfile = Omit<SourceOrganization, 'name' | 'email'>

export const SourceRepository = v.object({
  id: sourceId,
  name: v.string(),
  full_name: v.string(),
  owner: v.object({ login: v.string(), active: v.nullish(v.boolean(), true) }),
  description: text,
  website: text,
  default_branch: text,
  avatar_url: text,
  private: v.boolean(),
  internal: flag,
  archived: flag,
  mirror: flag,
  fork: flag,
  empty: flag,
  /** KiB */
  size: count,
  topics: v.nullish(v.array(v.string())),
  parent: v.nullish(v.object({ id: sourceId, name: v.string(), owner: v.object({ login: v.string() }) })),
  created_at: time,
  updated_at: time,
})
export type SourceRepository = v.InferOutput<typeof SourceRepository>

/** A repository of the source, with the visibility of its owner there. */
export interface OwnedRepository {
  readonly given: SourceRepository
  readonly visibility: SourceProfile['visibility']
}

/** Who wrote something; null or a name that no account has when the author was deleted. */
const author = v.pipe(
  v.nullish(v.object({ login: text }), { login: '' }),
  v.transform(({ login }) => login),
)

export const SourceAttachment = v.object({
  uuid: v.nullish(v.string(), ''),
  name: v.string(),
  size: count,
  download_count: count,
  created_at: time,
  /** `external` at a Forgejo for a link to another server. */
  type: text,
})
export type SourceAttachment = v.InferOutput<typeof SourceAttachment>
const assets = v.nullish(v.array(SourceAttachment), [])

export const SourceIssue = v.object({
  number: v.number(),
  title: v.string(),
  body: text,
  state: v.picklist(['open', 'closed']),
  user: author,
  comments: count,
  assets,
  created_at: time,
  updated_at: time,
  closed_at: time,
  pull_request: v.nullish(v.unknown()),
})
export type SourceIssue = v.InferOutput<typeof SourceIssue>

export const SourceComment = v.object({
  id: v.number(),
  body: text,
  user: author,
  assets,
  created_at: time,
  updated_at: time,
})
export type SourceComment = v.InferOutput<typeof SourceComment>

export const SourceRelease = v.object({
  id: v.number(),
  tag_name: v.string(),
  target_commitish: text,
  name: text,
  body: text,
  draft: flag,
  prerelease: flag,
  author,
  assets,
  created_at: time,
  published_at: time,
})
export type SourceRelease = v.InferOutput<typeof SourceRelease>

export const SourcePackage = v.object({
  type: v.string(),
  name: v.string(),
  version: v.string(),
  creator: author,
  created_at: time,
})
export type SourcePackage = v.InferOutput<typeof SourcePackage>

/** `Size` is capitalized up to Gitea 1.25. */
export const SourcePackageFile = v.pipe(
  v.object({ name: v.string(), Size: v.nullish(v.number()), size: v.nullish(v.number()), sha256: text }),
  v.transform(({ Size, size, ...file }) => ({ ...file, size: size ?? Size ?? 0 })),
)
export type SourcePackageFile = v.InferOutput<typeof SourcePackageFile>
