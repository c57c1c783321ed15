import * as v from 'valibot'
import { Collection } from '../collection.ts'
import { id } from '../fields.ts'

const CopyIds = v.object({
  /** Its own id; of quota rules and groups the number. Absent for what has none, such as a star. */
  id: v.optional(id),
  /**
   * Id of the account, the repository, the team or (its number) the quota group that it belongs to: that of
   * `scope`.
   */
  of: v.optional(id),
  /** Id of the account or the repository that it connects `of` with, such as the repository of a star. */
  to: v.optional(id),
})
/**
 * What identifies a copy here: a star has `of` and `to`, a key `id` and `of`. Of accounts, repositories,
 * contents, webhooks, quota rules and groups there is `id` alone.
 */
export type CopyIds = v.InferOutput<typeof CopyIds>

const MigrationRecord = v.object({
  /** URL of the server that the record was copied from. */
  source: v.string(),
  kind: v.picklist([
    ...['account', 'repository', 'membership', 'sshKey', 'gpgKey', 'follow', 'star', 'watch'],
    ...[
      'issue',
      'comment',
      'release',
      'attachment',
      'package',
      'lfs',
      'team',
      'teamMember',
      'teamRepository',
    ],
    ...['collaborator', 'hook', 'publicMember', 'quotaRule', 'quotaGroup', 'quotaAssignment', 'finished'],
  ] as const),
  /**
   * The account or organization that the record belongs to, in lower case, or `owner/repository` for the
   * contents of a repository; empty for accounts.
   */
  scope: v.string(),
  /**
   * Name at the source, in lower case. In this field, an account, a
   * repository or a team that is renamed keeps the first name that it had at the source. When another one
   * already has the name, `#` and the id at the source follow.
   */
  name: v.string(),
  /** The copy; absent until it is created. A run that ended between the two leaves the record so. */
  copy: v.optional(CopyIds),
  /**
   * SHA-256 in hex of the members that the copy had when a run last changed it; of LFS objects, of the
   * references that lead to them. Absent until the copy is created.
   */
  digest: v.optional(v.string()),
  /**
   * Of accounts, repositories and teams: the id at the source, and the name there that the copy follows, in
   * lower case. Absent when the source sends no ids.
   */
  original: v.optional(v.object({ id, name: v.string() })),
})
export type MigrationRecord = v.InferOutput<typeof MigrationRecord>

/**
 * Copies made by `allot migrate`. Of these alone a later run removes what the source has removed; from
 * accounts and repositories it only withdraws rights.
 */
export const migrationRecords = new Collection({
  name: 'migrationLog',
  schema: MigrationRecord,
  id: (copy) => [copy.source, copy.kind, copy.scope, copy.name],
  // Only this counter shows that a record is missing.
  counted: { kind: (copy) => [copy.source, copy.kind] },
})
