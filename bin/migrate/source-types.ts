import * as v from 'valibot'

/** The parts of the responses of Gitea, Forgejo and Allot that are used. Versions differ in which of the optional ones they send. */
const text = v.optional(v.nullable(v.string()))
const flag = v.optional(v.nullable(v.boolean()))
const visibility = v.optional(v.picklist(['public', 'limited', 'private']), 'public')

export const SourceUser = v.object({
  login: v.string(),
  full_name: text,
  email: text,
  website: text,
  description: text,
  location: text,
  visibility,
  is_admin: flag,
  active: flag,
  prohibit_login: flag,
  restricted: flag,
  source_id: v.optional(v.number(), 0),
})
export type SourceUser = v.InferOutput<typeof SourceUser>

export const SourceOrganization = v.pipe(
  v.object({
    name: v.optional(v.string()),
    username: v.optional(v.string()),
    full_name: text,
    website: text,
    description: text,
    location: text,
    visibility,
  }),
  v.transform(({ name, username, ...rest }) => ({ ...rest, name: name ?? username ?? '' })),
)
export type SourceOrganization = v.InferOutput<typeof SourceOrganization>

export const SourceTeam = v.object({
  id: v.number(),
  name: v.string(),
  permission: text,
  includes_all_repositories: flag,
  can_create_org_repo: flag,
  units: v.optional(v.nullable(v.array(v.string()))),
  units_map: v.optional(v.nullable(v.record(v.string(), v.string()))),
})
export type SourceTeam = v.InferOutput<typeof SourceTeam>

export const SourceRepository = v.object({
  name: v.string(),
  full_name: v.string(),
  owner: v.object({ login: v.string() }),
  description: text,
  website: text,
  default_branch: text,
  private: v.boolean(),
  internal: flag,
  archived: flag,
  mirror: flag,
  fork: flag,
  empty: flag,
  /** KiB */
  size: v.optional(v.number(), 0),
  open_issues_count: v.optional(v.number(), 0),
  open_pr_counter: v.optional(v.number(), 0),
  release_counter: v.optional(v.number(), 0),
})
export type SourceRepository = v.InferOutput<typeof SourceRepository>

export const SourceKey = v.object({ key: v.string(), title: text })
export type SourceKey = v.InferOutput<typeof SourceKey>
export const SourceGpgKey = v.object({ key_id: v.string() })
export type SourceGpgKey = v.InferOutput<typeof SourceGpgKey>

export const SourceRule = v.object({
  name: v.string(),
  limit: v.number(),
  subjects: v.optional(v.nullable(v.array(v.string()))),
})
export const SourceGroup = v.object({
  name: v.string(),
  rules: v.optional(v.nullable(v.array(v.object({ name: v.string() })))),
})
