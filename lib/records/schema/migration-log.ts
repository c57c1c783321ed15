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
    'reference',
  ] as const),
  /**
   * What the record belongs to: the id of an account or a repository at the source, of the latter also with
   * the kind of contents, or the name of a quota group; empty for accounts and repositories. Webhooks belong
   * to both, and have `account/` before the id of an account.
   */
  scope: v.string(),
  /**
   * Of accounts and repositories, and of what leads to them: the id at the source. Of teams and quotas, the
   * name in lower case; of references, the whole name, such as `refs/heads/main`; of others, what identifies
   * them at the source.
   */
  name: v.string(),
  /** The copy; absent until it is created. A run that ended between the two leaves the record so. */
  copy: v.optional(CopyIds),
  /**
   * SHA-256 in hex of the members that the copy had when a run last changed it; of LFS objects, of the
   * references that lead to them. Of a reference, the id of the object that it had then. Absent until the
   * copy is created.
   */
  digest: v.optional(v.string()),
  /**
   * Of accounts and repositories: the id at the source, and the name there that the copy follows, in lower
   * case; of a repository with the id of its owner before it.
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
