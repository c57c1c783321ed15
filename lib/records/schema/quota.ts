import * as v from 'valibot'
import { Collection } from '../collection.ts'
import { bytes, count, id, integer, seconds } from '../fields.ts'
import type { SeveralKeys } from '../indexes.ts'
import type { KeyTuple } from '../key-codec.ts'

/**
 * When a rule or a group was created, in the form of the times of the audit log. A later rule or group of the
 * same name has another time.
 */
const created = v.object({ seconds, nonce: v.string() })

const Rule = v.object({
  name: v.string(),
  limit: integer,
  subjects: v.array(v.string()),
  sequence: id,
  created,
})
export type Rule = v.InferOutput<typeof Rule>

export const rules = new Collection({
  name: 'rule',
  schema: Rule,
  id: (rule) => [rule.name],
  numbers: { sequence: 'rule', of: (rule) => [rule.sequence] },
  ordered: { sequence: (rule) => [rule.sequence] },
  counted: { all: () => [] },
})

const Group = v.object({ name: v.string(), rules: v.array(v.string()), sequence: id, created })
export type Group = v.InferOutput<typeof Group>

export const groups = new Collection({
  name: 'group',
  schema: Group,
  id: (group) => [group.sequence],
  numbers: { sequence: 'group' },
  unique: { name: (group) => [group.name] },
  ordered: { sequence: (group) => [group.sequence] },
  counted: { all: () => [] },
})

/**
 * A group of an owner, by its number. Numbers are never used twice: readers ignore the assignments of a
 * deleted group, until a job has removed them.
 */
const Assignment = v.object({ owner: id, group: id })
export type Assignment = v.InferOutput<typeof Assignment>

export const assignments = new Collection({
  name: 'assignment',
  schema: Assignment,
  id: (assignment) => [assignment.owner, assignment.group],
  ordered: { group: (assignment) => [assignment.group] },
  counted: { group: (assignment) => [assignment.group] },
  belongsTo: [
    { to: 'owner', removed: 'now' },
    { to: 'group', by: 'group' },
  ],
})

const QuotaOwner = v.object({ id, name: v.string(), createdAt: seconds })
export type QuotaOwner = v.InferOutput<typeof QuotaOwner>

/**
 * Owners that a host names itself (lib/quota/host-owners.ts). Their ids are from the same sequence as those
 * of accounts.
 */
export const quotaOwners = new Collection({
  name: 'quotaOwner',
  schema: QuotaOwner,
  id: (owner) => [owner.id],
  numbers: { sequence: 'account' },
  unique: { name: (owner) => [owner.name] },
  ordered: { name: (owner) => [owner.name] },
  counted: { all: () => [] },
})

export const LedgerKind = v.picklist(['attachments', 'artifacts', 'packages', 'lfs'])
export type LedgerKind = v.InferOutput<typeof LedgerKind>

const ofEach = <S extends v.GenericSchema>(one: S) =>
  v.object({ attachments: one, artifacts: one, packages: one, lfs: one } satisfies Record<LedgerKind, S>)
const ofKinds = ofEach(count)
/** A number for each kind of ledger entries. */
export type OfKinds = v.InferOutput<typeof ofKinds>
export const noEntries: OfKinds = { attachments: 0, artifacts: 0, packages: 0, lfs: 0 }

/** What a ledger entry counts as (`countedAs`, lib/quota/ledger.ts). */
export type EntrySize = Exclude<LedgerKind, 'attachments'> | 'issues' | 'releases'

/**
 * Sums of ledger entries, which `allot verify` recounts. The size of other bytes is a member of its own, like
 * `git`: here, a repair would set it to the sum of its entries, which is 0.
 */
const entrySizes = {
  lfs: bytes,
  issues: bytes,
  releases: bytes,
  artifacts: bytes,
  packages: bytes,
} satisfies Record<EntrySize, typeof bytes>

/**
 * Bytes that an owner uses, by category. Every change of size updates them in its transaction; no request
 * sums them.
 */
const OwnerUsage = v.object({
  owner: id,
  reposPublic: bytes,
  reposPrivate: bytes,
  ...entrySizes,
  /** How many ledger entries count toward the owner. */
  entries: ofKinds,
  /** The day of the last change, in days since 1970 (UTC). */
  day: count,
  /** Number of `dailyUsages` of the owner: earlier days whose usage is kept (lib/quota/usage.ts). */
  earlierDays: count,
})
export type OwnerUsage = v.InferOutput<typeof OwnerUsage>

export const ownerUsages = new Collection({
  name: 'ownerUsage',
  schema: OwnerUsage,
  id: (usage) => [usage.owner],
})

/** Usage at the end of an earlier day with a change. */
const DailyUsage = v.omit(OwnerUsage, ['entries', 'earlierDays'])
export type DailyUsage = v.InferOutput<typeof DailyUsage>

export const dailyUsages = new Collection({
  name: 'dailyUsage',
  schema: DailyUsage,
  id: (usage) => [usage.owner, usage.day],
  belongsTo: [{ to: 'owner' }],
})

/** What gives an entry its place in the list of its kind: the largest first, then by name and key. */
const Place = v.object({ size: bytes, name: v.string(), key: v.string() })

/** The first entries of a kind, and a place that none of the others is before; null when there are none. */
const FirstEntries = v.object({ first: v.array(Place), rest: v.nullable(Place) })
export type FirstEntries = v.InferOutput<typeof FirstEntries>
export const noFirstEntries: FirstEntries = { first: [], rest: null }

/** A repository as quota sees it: its owner, and the bytes that it and its contents use. */
const RepositoryUsage = v.object({
  id,
  owner: id,
  private: v.boolean(),
  git: bytes,
  ...entrySizes,
  /** How many ledger entries it has. */
  entries: ofKinds,
  /** The largest of each kind; absent for a kind that it has not had. */
  largest: ofEach(v.optional(FirstEntries)),
})
export type RepositoryUsage = v.InferOutput<typeof RepositoryUsage>

/** The sums of a repository or an owner without ledger entries. */
export const noEntrySizes = { lfs: 0, issues: 0, releases: 0, artifacts: 0, packages: 0 } satisfies Record<
  EntrySize,
  0
>

/** A size that a repository has: all members of its usage that are bytes. */
export type RepositorySize = Exclude<
  keyof RepositoryUsage,
  'id' | 'owner' | 'private' | 'entries' | 'largest'
>

const noSizes: Record<RepositorySize, 0> = { git: 0, ...noEntrySizes }
export const REPOSITORY_SIZES = Object.keys(noSizes) as readonly RepositorySize[]

/** The usage of a repository without ledger entries, besides git data. */
export const noLedgerEntries = { ...noEntrySizes, entries: noEntries, largest: {} }

/**
 * Orders the first entries of all repositories of an owner, and the places of the rest, as the ledger does;
 * `true` follows an entry. So a transfer moves a few keys, however many entries there are.
 */
const byLargest =
  (kind: LedgerKind) =>
  ({ owner, largest }: RepositoryUsage): SeveralKeys | undefined => {
    const named = largest[kind]
    if (named === undefined) return undefined
    const { first, rest } = named
    const keys = [...first, ...(rest === null ? [] : [rest])].map(
      ({ size, name, key }, at) => [owner, 0 - size, name, kind, key, at < first.length] as const,
    )
    // V8 takes twelve times as long for `flat`.
    return { of: ([] as KeyTuple).concat(...keys), each: () => keys }
  }

export const repositoryUsages = new Collection({
  name: 'repositoryUsage',
  schema: RepositoryUsage,
  id: (usage) => [usage.id],
  ordered: {
    attachments: byLargest('attachments'),
    artifacts: byLargest('artifacts'),
    packages: byLargest('packages'),
    lfs: byLargest('lfs'),
  },
})

/** Prefix of the keys of ledger entries that the server itself uses, for files on its own disk. */
export const RESERVED_PREFIX = 'allot:'

const LedgerRecord = v.object({
  kind: LedgerKind,
  /** Stable name that the caller gave to the entry; unique among the entries of its kind. */
  key: v.string(),
  /** Id of the owner of an entry that is of no repository; null for others, which go along with theirs. */
  owner: v.nullable(id),
  /** Id of the repository; null for an entry that belongs to an owner only. */
  repository: v.nullable(id),
  /** Name to show, such as that of a file. */
  name: v.string(),
  size: bytes,
  /** Attachments: the kind of what they are attached to; null for other kinds. */
  on: v.nullable(v.picklist(['issue', 'release'])),
  /** Attachments: the number of that issue, or the id of that release; null for other kinds. */
  index: v.nullable(integer),
  /** Artifacts: the run that created them; null for other kinds. */
  run: v.nullable(integer),
  /** Packages: the type and the version of the package; null for other kinds. */
  type: v.nullable(v.string()),
  version: v.nullable(v.string()),
  createdAt: seconds,
  /** Milliseconds since 1970: the entry counts until then, and is removed (lib/quota/expiries.ts). */
  expiresAt: v.optional(count),
})
export type LedgerRecord = v.InferOutput<typeof LedgerRecord>

/** Largest first, then by name. `0 - size`, so that a size of 0 does not become -0. */
const bySize = (entry: LedgerRecord) => [entry.kind, 0 - entry.size, entry.name] as const

export const ledgerEntries = new Collection({
  name: 'ledger',
  schema: LedgerRecord,
  id: (entry) => [entry.kind, entry.key],
  // Names of up to nine characters, so that the driver counts the deletions of each id by itself
  // (`PREFIX_BYTES`, drivers/level).
  ordered: {
    owner: (entry) => (entry.owner === null ? undefined : [entry.owner, ...bySize(entry)]),
    repo: (entry) => (entry.repository === null ? undefined : [entry.repository, ...bySize(entry)]),
    expiry: ({ expiresAt }) => (expiresAt === undefined ? undefined : [expiresAt]),
  },
  belongsTo: [
    { to: 'owner', by: 'owner' },
    { to: 'repositoryUsage', by: 'repo' },
  ],
})
