import type { Account, MigrationRecord, Repository } from '../../lib/records/schema/index.ts'
import { synchronizeCollaborators } from './collaborators.ts'
import type { Migration } from './migration.ts'
import { copyMembers } from './organizations.ts'
import { copyTeams } from './teams/index.ts'
import { removeFromTeams } from './teams/repositories.ts'
import { followsOf, gpgKeysOf, removeList, sshKeysOf, starsOf, watchesOf } from './user-data.ts'
import type { Kind as ComparedKind } from './verify/comparison.ts'

/** A copied repository that was deleted at the source. */
export interface DeletedRepository {
  readonly owner: Account
  readonly repository: Repository
  readonly key: MigrationRecord
}

/** Withdraws copies, by what the source has deleted. Only what it has copied is withdrawn. */
interface Revocation {
  user?(migration: Migration, user: Account): Promise<void>
  organization?(migration: Migration, organization: Account): Promise<void>
  repository?(migration: Migration, deleted: DeletedRepository): Promise<void>
}

interface CopiedKind {
  /** The kind under which `allot migrate verify` compares the copies. */
  readonly compared: ComparedKind
  /**
   * How they are withdrawn; `hidden` when they may stay, since only administrators see what belongs to a
   * deleted account or repository, and `anyway` when another revocation or the rest of the run withdraws
   * them.
   */
  readonly revoked: Revocation | 'hidden' | 'anyway'
}

/**
 * What belongs to copied accounts and repositories, by the kinds of the migration log. Revoked in this order.
 */
export const LOGGED_KINDS: Readonly<
  Record<Exclude<MigrationRecord['kind'], 'account' | 'repository'>, CopiedKind>
> = {
  sshKey: { compared: 'key', revoked: { user: removeList(sshKeysOf) } },
  gpgKey: { compared: 'key', revoked: { user: removeList(gpgKeysOf) } },
  follow: { compared: 'relation', revoked: { user: removeList(followsOf) } },
  star: { compared: 'relation', revoked: { user: removeList(starsOf) } },
  watch: { compared: 'relation', revoked: { user: removeList(watchesOf) } },
  team: {
    compared: 'team',
    revoked: { organization: (migration, organization) => copyTeams(migration, organization, []) },
  },
  teamMember: { compared: 'team', revoked: 'anyway' },
  membership: {
    compared: 'organization',
    revoked: {
      organization: (migration, organization) =>
        copyMembers(migration, organization, { owners: new Set(), members: new Set() }),
    },
  },
  publicMember: { compared: 'organization', revoked: 'anyway' },
  collaborator: {
    compared: 'collaborator',
    revoked: {
      repository: (migration, deleted) => synchronizeCollaborators(migration, deleted, new Map()),
    },
  },
  teamRepository: {
    compared: 'team',
    revoked: { repository: (migration, { repository }) => removeFromTeams(migration, repository.id) },
  },
  lfs: { compared: 'lfs', revoked: 'hidden' },
  issue: { compared: 'issue', revoked: 'hidden' },
  comment: { compared: 'comment', revoked: 'hidden' },
  release: { compared: 'release', revoked: 'hidden' },
  // A field of the issue, the comment or the release.
  attachment: { compared: 'issue', revoked: 'hidden' },
  package: { compared: 'package', revoked: 'hidden' },
  // An inactive one sends nothing; one that was activated here belongs to this server.
  hook: { compared: 'webhook', revoked: 'hidden' },
  // The source lists the owners of each group: a deleted one is no longer among them.
  quotaAssignment: { compared: 'quota', revoked: 'anyway' },
  quotaRule: { compared: 'quota', revoked: 'anyway' },
  quotaGroup: { compared: 'quota', revoked: 'anyway' },
}

/** The revocations of all kinds. */
export const revocations: readonly Revocation[] = Object.values(LOGGED_KINDS).flatMap(({ revoked }) =>
  typeof revoked === 'string' ? [] : [revoked],
)
