/** All recordings of the families. */
export const inAll = (...families: string[]): Record<string, string[]> =>
  Object.fromEntries(families.map((family) => [family, ['*']]))

/** Members of Forgejo's user that Allot's does not have. */
export const USER_LACKS = [
  'login_name',
  'source_id',
  'language',
  'last_login',
  'restricted',
  'prohibit_login',
  'pronouns',
].map((member) => `body* lacks ${member}`)

/** Members of Forgejo's user that Allot sends with a profile only. */
export const USER_COUNTS = ['followers_count', 'following_count', 'starred_repos_count'].map(
  (member) => `body* lacks ${member}`,
)

/** A 404 with a `{message,url}` body on Forgejo, and without a body in the dialect `specification`. */
export const NOT_FOUND_IS_EMPTY = [
  'header content-type "application/json;charset=utf-8" → absent',
  'body {"message":"<message>","url":"<url>"*} → ""',
]

/** A 404 that Forgejo's router answers in plain text. */
export const UNKNOWN_PATH_IS_EMPTY = [
  'header content-type "text/plain;*charset=utf-8" → absent',
  'body "<text>" → ""',
]

/** The emails of other users. */
export const EMAIL_IS_HIDDEN = ['body*.email "*@example.com" → "*@noreply.127.0.0.1"']

/** `Allow` includes OPTIONS. */
export const ALLOWS_MORE = ['header allow "*" → "*OPTIONS*"']

/** Members of Forgejo's repository that Allot's does not have. */
export const REPOSITORY_LACKS = [
  'languages_url',
  'link',
  'original_url',
  'open_pr_counter',
  'archived_at',
  'has_issues',
  'internal_tracker',
  'has_wiki',
  'has_wiki_contents',
  'wiki_branch',
  'wiki_ssh_url',
  'wiki_clone_url',
  'globally_editable_wiki',
  'has_pull_requests',
  'has_projects',
  'has_releases',
  'has_packages',
  'has_actions',
  'ignore_whitespace_conflicts',
  'allow_merge_commits',
  'allow_rebase',
  'allow_rebase_explicit',
  'allow_squash_merge',
  'allow_fast_forward_only_merge',
  'allow_rebase_update',
  'default_delete_branch_after_merge',
  'default_merge_style',
  'default_allow_maintainer_edit',
  'default_update_style',
  'avatar_url',
  'internal',
  'mirror_interval',
  'object_format_name',
  'mirror_updated',
].map((member) => `body* lacks ${member}`)

/** `ssh_url` while git over SSH is off. */
export const SSH_URL = ['body*.ssh_url "ssh://git@127.0.0.1/*" → ""']
