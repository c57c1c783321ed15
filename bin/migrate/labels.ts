import { type MigrationRecord, PACKAGE_TYPES } from '../../lib/records/schema/index.ts'

/** The kinds of copies. LFS objects are only added; `finished` says that no run may follow. */
export type Kind = Exclude<MigrationRecord['kind'], 'lfs' | 'finished'>

/** What the reports say of packages that are left behind. */
export const OTHER_PACKAGES = `packages of other types than ${PACKAGE_TYPES.join(', ')}`

interface Labels {
  readonly one: string
  readonly many: string
  /** What the report says of removed ones: the beginning of a sentence that ends with their names. */
  readonly revoked?: string
}

/** The kinds, in the reports of a migration and of a comparison. */
export const LABELS: Readonly<Record<Kind, Labels>> = {
  account: { one: 'account', many: 'accounts' },
  repository: { one: 'repository', many: 'repositories' },
  membership: {
    one: 'membership',
    many: 'memberships',
    revoked: 'these users are no longer members of the organization in parentheses, except by its teams',
  },
  publicMember: {
    one: 'public membership',
    many: 'public memberships',
    revoked: 'these users are no longer shown as members of the organization in parentheses',
  },
  team: {
    one: 'team',
    many: 'teams',
    revoked: 'the organization in parentheses no longer has these teams',
  },
  teamMember: {
    one: 'team membership',
    many: 'team memberships',
    revoked: 'these users are no longer members of the team in parentheses',
  },
  teamRepository: {
    one: 'repository of a team',
    many: 'repositories of teams',
    revoked: 'the team in parentheses no longer has these repositories',
  },
  collaborator: {
    one: 'collaborator',
    many: 'collaborators',
    revoked: 'these users are no longer collaborators of the repository in parentheses',
  },
  sshKey: {
    one: 'SSH key',
    many: 'SSH keys',
    revoked: 'the user in parentheses can no longer use these SSH keys',
  },
  gpgKey: {
    one: 'GPG key',
    many: 'GPG keys',
    revoked: 'the user in parentheses no longer has these GPG keys',
  },
  follow: {
    one: 'follow',
    many: 'follows',
    revoked: 'the user in parentheses no longer follows',
  },
  star: {
    one: 'star',
    many: 'stars',
    revoked: 'the user in parentheses no longer stars',
  },
  watch: {
    one: 'watch',
    many: 'watches',
    revoked: 'the user in parentheses no longer watches',
  },
  quotaRule: {
    one: 'quota rule',
    many: 'quota rules',
    revoked: 'these quota rules do not exist any more',
  },
  quotaGroup: {
    one: 'quota group',
    many: 'quota groups',
    revoked: 'these quota groups do not exist any more, and limit no owner',
  },
  quotaAssignment: {
    one: 'quota assignment',
    many: 'quota assignments',
    revoked: 'the quota group in parentheses is no longer assigned to these owners',
  },
  hook: {
    one: 'webhook',
    many: 'webhooks',
    revoked: 'the owner in parentheses no longer has these webhooks',
  },
  issue: { one: 'issue', many: 'issues' },
  comment: { one: 'comment', many: 'comments' },
  release: { one: 'release', many: 'releases' },
  attachment: { one: 'attachment', many: 'attachments' },
  package: { one: 'package file', many: 'package files' },
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
