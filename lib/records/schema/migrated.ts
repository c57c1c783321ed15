import * as v from 'valibot'
import { Collection } from '../collection.ts'
import { id } from '../fields.ts'

const Migrated = v.object({
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
    ...['collaborator', 'email'],
  ] as const),
  /**
   * The account or organization that the record belongs to, in lower case, or `owner/repository` for what a repository
   * contains; empty for accounts.
   */
  scope: v.string(),
  /** Name at the source, in lower case. */
  name: v.string(),
  /** Ids of the copies; empty until they are written. */
  ids: v.array(id),
  /** Rights copied with the record, such as `admin`. */
  grants: v.array(v.string()),
  /** SHA-256 of what the source had, in hex, to notice its changes; absent where nothing but existence is followed. */
  digest: v.optional(v.string()),
})
export type Migrated = v.InferOutput<typeof Migrated>

/** Copies made by `allot migrate`: a later run removes those whose original is gone, and touches no other record. */
export const migrated = new Collection({
  name: 'migrated',
  schema: Migrated,
  id: (copy) => [copy.source, copy.kind, copy.scope, copy.name],
  // Only this counter shows that a record is missing.
  counted: { kind: (copy) => [copy.source, copy.kind] },
})
