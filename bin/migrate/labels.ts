import { type MigrationRecord, PACKAGE_TYPES } from '../../lib/records/schema/index.ts'

/**
 * The kinds of copies. LFS objects are only added; git follows references; `finished` says that no run may
 * follow.
 */
export type Kind = Exclude<MigrationRecord['kind'], 'lfs' | 'reference' | 'finished'>

/** What the reports say of packages that are left behind. */
export const OTHER_PACKAGES = `packages of other types than ${PACKAGE_TYPES.join(', ')}`

/** The kinds, in the reports of a migration and of a comparison. */
export const LABELS: Readonly<Record<Kind, { readonly one: string; readonly many: string }>> = {
  account: { one: 'account', many: 'accounts' },
  repository: { one: 'repository', many: 'repositories' },
  membership: { one: 'membership', many: 'memberships' },
  publicMember: { one: 'public membership', many: 'public memberships' },
  team: { one: 'team', many: 'teams' },
  teamMember: { one: 'team membership', many: 'team memberships' },
  teamRepository: { one: 'repository of a team', many: 'repositories of teams' },
  collaborator: { one: 'collaborator', many: 'collaborators' },
  sshKey: { one: 'SSH key', many: 'SSH keys' },
  gpgKey: { one: 'GPG key', many: 'GPG keys' },
  follow: { one: 'follow', many: 'follows' },
  star: { one: 'star', many: 'stars' },
  watch: { one: 'watch', many: 'watches' },
  quotaRule: { one: 'quota rule', many: 'quota rules' },
  quotaGroup: { one: 'quota group', many: 'quota groups' },
  quotaAssignment: { one: 'quota assignment', many: 'quota assignments' },
  hook: { one: 'webhook', many: 'webhooks' },
  issue: { one: 'issue', many: 'issues' },
  comment: { one: 'comment', many: 'comments' },
  release: { one: 'release', many: 'releases' },
  attachment: { one: 'attachment', many: 'attachments' },
  package: { one: 'package file', many: 'package files' },
}
