import type { MigrationRecord } from '../../lib/records/schema/index.ts'

/** The kinds of copies. LFS objects are only added; `finished` says that no run may follow. */
export type Kind = Exclude<MigrationRecord['kind'], 'lfs' | 'finished'>

/** Names of a compared kind, in the singular and the plural. */
export const COMPARED_KINDS = {
  user: 'users',
  key: 'users with keys',
  relation: 'users with follows, stars and watches',
  organization: 'organizations',
  team: 'teams',
  repository: 'repositories',
  collaborator: 'repositories with collaborators',
  git: 'repositories with git data',
  lfs: 'LFS objects',
  issue: 'issues',
  comment: 'comments',
  release: 'releases',
  webhook: 'webhooks',
  package: 'packages',
  quota: 'quota rules and groups',
  right: 'rights of a user on a repository',
} as const
export type ComparedKind = keyof typeof COMPARED_KINDS

interface Labels {
  readonly one: string
  readonly many: string
  /** The kind under which `allot migrate verify` compares the copies. */
  readonly compared: ComparedKind
  /** What the report says of removed ones: the beginning of a sentence that ends with their names. */
  readonly revoked?: string
}

/** The kinds, in the report and in the comparison. */
export const LABELS: Readonly<Record<Kind, Labels>> = {
  account: { one: 'account', many: 'accounts', compared: 'user' },
  repository: { one: 'repository', many: 'repositories', compared: 'repository' },
  membership: {
    one: 'membership',
    many: 'memberships',
    compared: 'organization',
    revoked: 'these users are no longer members of the organization in parentheses, except by its teams',
  },
  publicMember: {
    one: 'public membership',
    many: 'public memberships',
    compared: 'organization',
    revoked: 'these users are no longer shown as members of the organization in parentheses',
  },
  team: {
    one: 'team',
    many: 'teams',
    compared: 'team',
    revoked: 'the organization in parentheses no longer has these teams',
  },
  teamMember: {
    one: 'team membership',
    many: 'team memberships',
    compared: 'team',
    revoked: 'these users are no longer members of the team in parentheses',
  },
  teamRepository: {
    one: 'repository of a team',
    many: 'repositories of teams',
    compared: 'team',
    revoked: 'the team in parentheses no longer has these repositories',
  },
  collaborator: {
    one: 'collaborator',
    many: 'collaborators',
    compared: 'collaborator',
    revoked: 'these users are no longer collaborators of the repository in parentheses',
  },
  sshKey: {
    one: 'SSH key',
    many: 'SSH keys',
    compared: 'key',
    revoked: 'the user in parentheses can no longer use these SSH keys',
  },
  gpgKey: {
    one: 'GPG key',
    many: 'GPG keys',
    compared: 'key',
    revoked: 'the user in parentheses no longer has these GPG keys',
  },
  follow: {
    one: 'follow',
    many: 'follows',
    compared: 'relation',
    revoked: 'the user in parentheses no longer follows',
  },
  star: {
    one: 'star',
    many: 'stars',
    compared: 'relation',
    revoked: 'the user in parentheses no longer stars',
  },
  watch: {
    one: 'watch',
    many: 'watches',
    compared: 'relation',
    revoked: 'the user in parentheses no longer watches',
  },
  quotaRule: {
    one: 'quota rule',
    many: 'quota rules',
    compared: 'quota',
    revoked: 'these quota rules do not exist any more',
  },
  quotaGroup: {
    one: 'quota group',
    many: 'quota groups',
    compared: 'quota',
    revoked: 'these quota groups do not exist any more, and limit no owner',
  },
  quotaAssignment: {
    one: 'quota assignment',
    many: 'quota assignments',
    compared: 'quota',
    revoked: 'the quota group in parentheses is no longer assigned to these owners',
  },
  hook: {
    one: 'webhook',
    many: 'webhooks',
    compared: 'webhook',
    revoked: 'the owner in parentheses no longer has these webhooks',
  },
  issue: { one: 'issue', many: 'issues', compared: 'issue' },
  comment: { one: 'comment', many: 'comments', compared: 'comment' },
  release: { one: 'release', many: 'releases', compared: 'release' },
  attachment: { one: 'attachment', many: 'attachments', compared: 'issue' },
  package: { one: 'package file', many: 'package files', compared: 'package' },
}

/** Rights that come with members, by what the report says of those that are withdrawn. */
export const REVOKED = {
  admin: 'these users are no longer administrators of this server',
  active: 'these users can no longer sign in to this server',
  everyone: 'people without an account on this server can no longer see',
  signedIn: 'users without a right of their own can no longer see',
  owner: 'these users no longer own the organization in parentheses',
  writable: 'these repositories are archived now, so that nobody can change them',
  team: 'the members of these teams now have the rights that the source has given them since',
} as const
export type Right = keyof typeof REVOKED
