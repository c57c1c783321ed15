import { createHash } from 'node:crypto'
import * as v from 'valibot'
import { add, type Sum } from '../../integers.ts'
import { invertedIndex, tokenize, trigramIndex } from '../../search/index.ts'
import { collection } from '../collection.ts'

/**
 * Every collection and counter of a store, in one place. Times are whole seconds since 1970, sizes are bytes.
 * Names are kept as they were given and compared in lower case.
 */
const integer = v.pipe(v.number(), v.safeInteger())
const id = v.pipe(integer, v.minValue(1))
const bytes = v.pipe(integer, v.minValue(0))
const count = v.pipe(integer, v.minValue(0))
/** Bytes of many things together. */
const sum: v.GenericSchema<Sum> = v.union([bytes, v.pipe(v.bigint(), v.minValue(2n ** 53n))])
const seconds = integer

/**
 * Who may know of a thing: 0 everyone, 1 whoever is signed in, 2 only the few that are named elsewhere. It is kept on
 * the thing and on every relation to it, so that lists and their totals are read from an index of what may be seen.
 */
export type Audience = 0 | 1 | 2
const audience = v.picklist([0, 1, 2])

export const Visibility = v.picklist(['public', 'limited', 'private'])
export type Visibility = v.InferOutput<typeof Visibility>

/** What a visibility says of who may know. */
export const audienceOf: Readonly<Record<Visibility, Audience>> = { public: 0, limited: 1, private: 2 }

const Account = v.object({
  id,
  kind: v.picklist(['user', 'organization']),
  name: v.string(),
  fullName: v.string(),
  email: v.string(),
  website: v.string(),
  description: v.string(),
  location: v.string(),
  visibility: Visibility,
  admin: v.boolean(),
  active: v.boolean(),
  /** scrypt, see lib/accounts/passwords.ts; null when the account signs in with tokens or through the host only. */
  password: v.nullable(v.string()),
  createdAt: seconds,
  updatedAt: seconds,
})
export type Account = v.InferOutput<typeof Account>

/** Finds users by a part of their login or full name. */
export const accountNames = trigramIndex<Account>({
  collection: 'account',
  name: 'grams',
  of: (account) =>
    account.kind === 'user' ? [audienceOf[account.visibility], [account.name, account.fullName]] : undefined,
})

export const accounts = collection({
  name: 'account',
  schema: Account,
  id: (account) => [account.id],
  unique: {
    name: (account) => [account.name.toLowerCase()],
    email: (account) =>
      account.kind === 'user' && account.email !== '' ? [account.email.toLowerCase()] : undefined,
  },
  ordered: { name: (account) => [account.kind, account.name.toLowerCase()] },
  counted: { kind: (account) => [account.kind] },
  search: [accountNames],
})

const Membership = v.object({
  organization: id,
  member: id,
  owner: v.boolean(),
  /** Of the user who made the organization, for as long as that user owns it; absent for all others. */
  founder: v.optional(v.boolean()),
  createdAt: seconds,
})
export type Membership = v.InferOutput<typeof Membership>

export const memberships = collection({
  name: 'membership',
  schema: Membership,
  id: (membership) => [membership.organization, membership.member],
  ordered: {
    member: (membership) => [membership.member],
    organization: (membership) => [membership.organization],
  },
  counted: {
    member: (membership) => [membership.member],
    organization: (membership) => [membership.organization],
    owners: (membership) => (membership.owner ? [membership.organization] : undefined),
  },
})

const Token = v.object({
  id,
  account: id,
  name: v.string(),
  /** SHA-256 of the token, in hex. The token itself is kept nowhere. */
  hash: v.string(),
  lastEight: v.string(),
  scopes: v.array(v.string()),
  createdAt: seconds,
})
export type Token = v.InferOutput<typeof Token>

export const tokens = collection({
  name: 'token',
  schema: Token,
  id: (token) => [token.id],
  unique: { hash: (token) => [token.hash], name: (token) => [token.account, token.name] },
  ordered: { account: (token) => [token.account] },
  counted: { account: (token) => [token.account] },
})

const Session = v.object({
  /** SHA-256 of what the browser holds, in hex. */
  hash: v.string(),
  account: id,
  /** The token that it was begun with, without which it ends; null for a password. */
  token: v.nullable(id),
  /** SHA-256 of the password's hash at that time: whoever changes the password ends it. Null for a token. */
  password: v.nullable(v.string()),
  createdAt: seconds,
  expiresAt: seconds,
})
export type Session = v.InferOutput<typeof Session>

/** Who is signed in to the pages: see lib/accounts/sessions.ts. */
export const sessions = collection({
  name: 'session',
  schema: Session,
  id: (session) => [session.hash],
  ordered: {
    account: (session) => [session.account, session.createdAt],
    expiry: (session) => [session.expiresAt],
  },
})

const Repository = v.object({
  id,
  owner: id,
  name: v.string(),
  description: v.string(),
  website: v.string(),
  private: v.boolean(),
  audience,
  empty: v.boolean(),
  mirror: v.boolean(),
  archived: v.boolean(),
  parent: v.nullable(id),
  defaultBranch: v.string(),
  /** Bytes of git data, without LFS. */
  size: bytes,
  /** Bytes of LFS objects. */
  lfs: sum,
  stars: integer,
  forks: integer,
  watchers: integer,
  createdAt: seconds,
  updatedAt: seconds,
})
export type Repository = v.InferOutput<typeof Repository>

/** A repository's place among its owner's, for whoever may see it. */
const ownersPlace = (repository: Repository) => [repository.owner, repository.audience] as const

/** Finds repositories by a part of their name. */
export const repositoryNames = trigramIndex<Repository>({
  collection: 'repository',
  name: 'grams',
  of: (repository) => [repository.audience, [repository.name]],
})

export const repositories = collection({
  name: 'repository',
  schema: Repository,
  id: (repository) => [repository.id],
  unique: { name: (repository) => [repository.owner, repository.name.toLowerCase()] },
  ordered: {
    id: (repository) => [...ownersPlace(repository)],
    name: (repository) => [...ownersPlace(repository), repository.name.toLowerCase()],
    // A number beyond 2^53 orders well enough.
    size: (repository) => [...ownersPlace(repository), Number(add(repository.size, repository.lfs))],
    updated: (repository) => [...ownersPlace(repository), repository.updatedAt],
    stars: (repository) => [...ownersPlace(repository), repository.stars],
    forks: (repository) => [...ownersPlace(repository), repository.forks],
    parent: (repository) => (repository.parent === null ? undefined : [repository.parent]),
  },
  counted: {
    owner: (repository) => [...ownersPlace(repository)],
  },
  search: [repositoryNames],
})

const Redirect = v.object({ owner: id, name: v.string(), repository: id, createdAt: seconds })
export type Redirect = v.InferOutput<typeof Redirect>

/** Former names of repositories, in lower case: see lib/repositories/redirects.ts. */
export const redirects = collection({
  name: 'redirect',
  schema: Redirect,
  id: (redirect) => [redirect.owner, redirect.name],
  ordered: { repository: (redirect) => [redirect.repository, redirect.createdAt] },
  counted: { repository: (redirect) => [redirect.repository] },
})

const PendingFolder = v.object({ id, since: seconds })
export type PendingFolder = v.InferOutput<typeof PendingFolder>

/** Repositories whose folders may be there without a record: see lib/repositories/storage.ts. */
export const pendingFolders = collection({ name: 'stray', schema: PendingFolder, id: (stray) => [stray.id] })

const PushJournalEntry = v.object({
  id,
  repository: id,
  /** The git that changes the repository. */
  pid: v.nullable(integer),
  since: seconds,
})
export type PushJournalEntry = v.InferOutput<typeof PushJournalEntry>

/** Repositories whose git data may not be what their records say: see lib/repositories/push-journal.ts. */
export const pushJournal = collection({
  name: 'landing',
  schema: PushJournalEntry,
  id: (landing) => [landing.id],
})

const StoredFile = v.object({
  area: v.picklist(['lfs', 'packages', 'attachments']),
  /** The repository that it goes with; of packages, the account. */
  keeper: id,
  name: v.string(),
  size: bytes,
  /** In hex. */
  sha256: v.string(),
  /** `arriving` until what it belongs to is written, `leaving` from when that is gone until the file is. */
  state: v.picklist(['arriving', 'kept', 'leaving']),
  since: seconds,
})
export type StoredFile = v.InferOutput<typeof StoredFile>

const Migrated = v.object({
  /** Address of the server that it was copied from. */
  source: v.string(),
  kind: v.picklist(['account', 'repository', 'membership', 'sshKey', 'gpgKey', 'follow', 'star', 'watch']),
  /** The account or organization that it belongs to, in lower case; empty for accounts. */
  scope: v.string(),
  /** Its name at the source, in lower case. */
  name: v.string(),
  /** Ids of the records here; empty until they are written. */
  ids: v.array(id),
  /** Rights that came with it, such as `admin`. */
  grants: v.array(v.string()),
})
export type Migrated = v.InferOutput<typeof Migrated>

/** What `allot migrate` has copied, so that a later run can take back what was withdrawn at the source, and nothing else. */
export const migrated = collection({
  name: 'migrated',
  schema: Migrated,
  id: (one) => [one.source, one.kind, one.scope, one.name],
  // Nothing else tells that a record is missing.
  counted: { kind: (one) => [one.source, one.kind] },
})

/** Files on the disk besides git data: see lib/repositories/files.ts. */
export const files = collection({
  name: 'file',
  schema: StoredFile,
  id: (file) => [file.area, file.keeper, file.name],
  unique: {
    // "Deduplicated per repository": an LFS object is found by its hash.
    content: (file) =>
      file.area === 'lfs' && file.state === 'kept' ? [file.keeper, file.sha256] : undefined,
  },
  ordered: {
    keeper: (file) => (file.state === 'kept' ? [file.area, file.keeper] : undefined),
    unsettled: (file) => (file.state === 'kept' ? undefined : []),
  },
})

/** An account's relation to a repository: the star and the watch have the same shape. */
const Relation = v.object({ account: id, repository: id, audience, createdAt: seconds })
export type Relation = v.InferOutput<typeof Relation>

const relation = <N extends string>(name: N) =>
  collection({
    name,
    schema: Relation,
    id: (one: Relation) => [one.account, one.repository],
    ordered: {
      account: (one: Relation) => [one.account, one.audience],
      repository: (one: Relation) => [one.repository, one.audience],
    },
    counted: { account: (one: Relation) => [one.account, one.audience] },
  })
export const stars = relation('star')
export const watches = relation('watch')
export type RelationCollection = typeof stars

const Follow = v.object({
  follower: id,
  followed: id,
  followerAudience: audience,
  followedAudience: audience,
  createdAt: seconds,
})
export type Follow = v.InferOutput<typeof Follow>

export const follows = collection({
  name: 'follow',
  schema: Follow,
  id: (follow) => [follow.follower, follow.followed],
  ordered: {
    following: (follow) => [follow.follower, follow.followedAudience],
    followers: (follow) => [follow.followed, follow.followerAudience],
    // What an account that changes its visibility has to tell.
    asFollower: (follow) => [follow.follower, follow.followerAudience],
    asFollowed: (follow) => [follow.followed, follow.followedAudience],
  },
  counted: {
    following: (follow) => [follow.follower, follow.followedAudience],
    followers: (follow) => [follow.followed, follow.followerAudience],
  },
})

const SshKey = v.object({
  id,
  account: id,
  title: v.string(),
  key: v.string(),
  fingerprint: v.string(),
  createdAt: seconds,
})
export type SshKey = v.InferOutput<typeof SshKey>

/** An account has a key once. Several accounts may have the same one: a refusal would tell that a hidden account has it. */
const keysPlace = (key: { account: number; fingerprint: string }) => [key.account, key.fingerprint] as const

/** Titles may be longer than a part of a key of the store. */
export const titleHash = (title: string): string => createHash('sha256').update(title).digest('hex')

export const sshKeys = collection({
  name: 'sshKey',
  schema: SshKey,
  id: (key) => [key.id],
  unique: { fingerprint: keysPlace },
  ordered: {
    account: (key) => [key.account],
    // The account that added a key first comes first: see lib/accounts/keys.ts.
    fingerprint: (key) => [key.fingerprint],
    title: (key) => [key.account, titleHash(key.title)],
  },
  counted: { account: (key) => [key.account] },
})

const openPgpPart = {
  id,
  keyId: v.string(),
  publicKey: v.string(),
  canSign: v.boolean(),
  canEncryptComms: v.boolean(),
  canEncryptStorage: v.boolean(),
  canCertify: v.boolean(),
  createdAt: seconds,
  expiresAt: v.nullable(seconds),
}
const GpgKey = v.object({
  ...openPgpPart,
  account: id,
  fingerprint: v.string(),
  emails: v.array(v.string()),
  subkeys: v.array(v.object(openPgpPart)),
})
export type GpgKey = v.InferOutput<typeof GpgKey>

export const gpgKeys = collection({
  name: 'gpgKey',
  schema: GpgKey,
  id: (key) => [key.id],
  unique: { fingerprint: keysPlace },
  ordered: { account: (key) => [key.account], fingerprint: (key) => [key.fingerprint] },
  counted: { account: (key) => [key.account] },
})

const Rule = v.object({ name: v.string(), limit: integer, subjects: v.array(v.string()), sequence: id })
export type Rule = v.InferOutput<typeof Rule>

export const rules = collection({
  name: 'rule',
  schema: Rule,
  id: (rule) => [rule.name],
  ordered: { sequence: (rule) => [rule.sequence] },
  counted: { all: () => [] },
})

const Group = v.object({ name: v.string(), rules: v.array(v.string()), sequence: id })
export type Group = v.InferOutput<typeof Group>

export const groups = collection({
  name: 'group',
  schema: Group,
  id: (group) => [group.name],
  ordered: { sequence: (group) => [group.sequence] },
  counted: { all: () => [] },
})

const Assignment = v.object({ owner: id, group: v.string() })
export type Assignment = v.InferOutput<typeof Assignment>

export const assignments = collection({
  name: 'assignment',
  schema: Assignment,
  id: (assignment) => [assignment.owner, assignment.group],
  ordered: {
    owner: (assignment) => [assignment.owner],
    group: (assignment) => [assignment.group],
  },
  counted: { group: (assignment) => [assignment.group] },
})

const sizes = { lfs: sum, issues: sum, releases: sum, artifacts: sum, packages: sum }

/** What an owner uses, by kind: kept up in the transaction that changes what it counts, never summed on a request. */
const OwnerUsage = v.object({
  owner: id,
  reposPublic: sum,
  reposPrivate: sum,
  ...sizes,
  /** The last day on which it changed, since 1970 in UTC. */
  day: count,
  /** How many earlier ones are kept: see lib/quota/history.ts. */
  days: count,
})
export type OwnerUsage = v.InferOutput<typeof OwnerUsage>

export const ownerUsages = collection({
  name: 'usage',
  schema: OwnerUsage,
  id: (usage) => [usage.owner],
})

/** What it came to on an earlier day on which it changed. */
const DailyUsage = v.omit(OwnerUsage, ['days'])
export type DailyUsage = v.InferOutput<typeof DailyUsage>

export const dailyUsages = collection({
  name: 'pastUsage',
  schema: DailyUsage,
  id: (usage) => [usage.owner, usage.day],
})

const largest = v.nullable(bytes)

/** A repository as quota sees it: whose it is, and what it and everything in it takes. */
const RepositoryUsage = v.object({
  id,
  owner: id,
  private: v.boolean(),
  git: bytes,
  ...sizes,
  /** How many of its ledger entries lie on its owner's shelf, and how many on its own: see lib/quota/ledger.ts. */
  lent: count,
  kept: count,
  /** No entry of the kind that lies on its own shelf is larger; null where there has been none since it was empty. */
  largest: v.object({ attachments: largest, artifacts: largest, packages: largest }),
})
export type RepositoryUsage = v.InferOutput<typeof RepositoryUsage>

/** Of a container that keeps nothing itself. */
export const noOwnEntries = { kept: 0, largest: { attachments: null, artifacts: null, packages: null } }

/** The place of a container's own shelf among those that hold a kind, the one with the largest first. */
const shelfOf = (kind: keyof RepositoryUsage['largest']) => (container: RepositoryUsage) => {
  const size = container.largest[kind]
  return size === null ? undefined : ([container.owner, 0 - size] as const)
}

export const repositoryUsages = collection({
  name: 'container',
  schema: RepositoryUsage,
  id: (container) => [container.id],
  ordered: {
    attachments: shelfOf('attachments'),
    artifacts: shelfOf('artifacts'),
    packages: shelfOf('packages'),
  },
})

export const LedgerKind = v.picklist(['attachments', 'artifacts', 'packages', 'lfs'])
export type LedgerKind = v.InferOutput<typeof LedgerKind>

const LedgerEntry = v.object({
  kind: LedgerKind,
  /** The caller's own stable name for the thing. */
  key: v.string(),
  /** Whose shelf it lies on; null for the shelf of its repository, whose owner it then has. */
  owner: v.nullable(id),
  /** Null for a package that belongs to its owner and to no repository. */
  container: v.nullable(id),
  name: v.string(),
  size: bytes,
  /** Attachments: where it hangs. */
  on: v.nullable(v.picklist(['issue', 'release'])),
  index: v.nullable(integer),
  /** Artifacts: the run that made it. */
  run: v.nullable(integer),
  /** Packages. */
  type: v.nullable(v.string()),
  version: v.nullable(v.string()),
  createdAt: seconds,
})
export type LedgerEntry = v.InferOutput<typeof LedgerEntry>

/** "Lists of what counts are ordered largest first, then by name." 0 - size, for -0 is not 0 in a key. */
const bySize = (entry: LedgerEntry) => [entry.kind, 0 - entry.size, entry.name] as const

export const ledgerEntries = collection({
  name: 'ledger',
  schema: LedgerEntry,
  id: (entry) => [entry.kind, entry.key],
  ordered: {
    size: (entry) => (entry.owner === null ? undefined : [entry.owner, ...bySize(entry)]),
    shelf: (entry) => (entry.owner === null ? [entry.container!, ...bySize(entry)] : undefined),
    container: (entry) => (entry.owner === null || entry.container === null ? undefined : [entry.container]),
  },
  counted: {
    owner: (entry) => (entry.owner === null ? undefined : [entry.owner, entry.kind]),
    shelf: (entry) => (entry.owner === null ? [entry.container!, entry.kind] : undefined),
  },
})

const IssueSequence = v.object({ repository: id, last: id })
export type IssueSequence = v.InferOutput<typeof IssueSequence>

/** The last number that a repository has given to an issue: none is given twice. */
export const issueSequences = collection({
  name: 'tracker',
  schema: IssueSequence,
  id: (tracker) => [tracker.repository],
})

const Issue = v.object({
  id,
  repository: id,
  number: id,
  title: v.string(),
  body: v.string(),
  state: v.picklist(['open', 'closed']),
  author: id,
  createdAt: seconds,
  updatedAt: seconds,
  closedAt: v.nullable(seconds),
})
export type Issue = v.InferOutput<typeof Issue>

/** Finds issues by the words of their title. */
export const issueTitles = invertedIndex<Issue>({
  collection: 'issue',
  name: 'words',
  source: (issue) => [issue.repository, issue.state, issue.number, issue.title],
  keys: ([repository, state, number, title]) =>
    tokenize(title as string).map((word) => [repository!, state!, word, number!]),
  listDepth: 3,
})

export const issues = collection({
  name: 'issue',
  schema: Issue,
  id: (issue) => [issue.id],
  unique: { number: (issue) => [issue.repository, issue.number] },
  // All end with the number, so that one listing can be held against another.
  ordered: {
    state: (issue) => [issue.repository, issue.state, issue.number],
    author: (issue) => [issue.repository, issue.author, issue.state, issue.number],
  },
  counted: {
    state: (issue) => [issue.repository, issue.state],
    author: (issue) => [issue.repository, issue.author, issue.state],
  },
  search: [issueTitles],
})

const Comment = v.object({
  id,
  /** The id of the issue, not its number. */
  issue: id,
  body: v.string(),
  author: id,
  createdAt: seconds,
  updatedAt: seconds,
})
export type Comment = v.InferOutput<typeof Comment>

export const comments = collection({
  name: 'comment',
  schema: Comment,
  id: (comment) => [comment.id],
  ordered: { issue: (comment) => [comment.issue] },
  counted: { issue: (comment) => [comment.issue] },
})

const Release = v.object({
  id,
  repository: id,
  tag: v.string(),
  target: v.string(),
  name: v.string(),
  body: v.string(),
  draft: v.boolean(),
  prerelease: v.boolean(),
  author: id,
  createdAt: seconds,
  /** Null for as long as it is a draft. */
  publishedAt: v.nullable(seconds),
})
export type Release = v.InferOutput<typeof Release>

const releaseKind = ({ repository, draft, prerelease }: Release) => [repository, draft, prerelease] as const

export const releases = collection({
  name: 'release',
  schema: Release,
  id: (release) => [release.id],
  unique: { tag: (release) => [release.repository, release.tag] },
  ordered: { time: (release) => [...releaseKind(release), release.publishedAt ?? release.createdAt] },
  counted: { kind: releaseKind },
})

const Attachment = v.object({
  id,
  /** Of the file, and of its address. */
  uuid: v.string(),
  repository: id,
  on: v.picklist(['issue', 'comment', 'release']),
  /** The id of that issue, comment or release. */
  holder: id,
  name: v.string(),
  size: bytes,
  uploader: id,
  downloads: count,
  createdAt: seconds,
})
export type Attachment = v.InferOutput<typeof Attachment>

export const attachments = collection({
  name: 'attachment',
  schema: Attachment,
  id: (attachment) => [attachment.id],
  unique: { uuid: (attachment) => [attachment.uuid] },
  ordered: { holder: ({ on, holder }) => [on, holder] },
  counted: { holder: ({ on, holder }) => [on, holder] },
})

const PackageVersion = v.object({
  id,
  owner: id,
  type: v.picklist(['generic']),
  name: v.string(),
  version: v.string(),
  creator: id,
  /** Of all its files. */
  size: bytes,
  files: count,
  createdAt: seconds,
})
export type PackageVersion = v.InferOutput<typeof PackageVersion>

export const packageVersions = collection({
  name: 'packageVersion',
  schema: PackageVersion,
  id: (one) => [one.id],
  unique: { path: (one) => [one.owner, one.type, one.name.toLowerCase(), one.version.toLowerCase()] },
  ordered: { created: (one) => [one.owner, one.createdAt] },
  counted: { owner: (one) => [one.owner] },
})

const PackageFile = v.object({
  id,
  version: id,
  owner: id,
  name: v.string(),
  /** What the file is called on the disk. */
  stored: v.string(),
  size: bytes,
  md5: v.string(),
  sha1: v.string(),
  sha256: v.string(),
  sha512: v.string(),
  createdAt: seconds,
})
export type PackageFile = v.InferOutput<typeof PackageFile>

export const packageFiles = collection({
  name: 'packageFile',
  schema: PackageFile,
  id: (file) => [file.id],
  unique: { name: (file) => [file.version, file.name.toLowerCase()] },
  ordered: { version: (file) => [file.version, file.name.toLowerCase()] },
})

const Job = v.object({
  /**
   * `entries`: the ledger entries of a container that is gone. `relations`: the stars and watches of a repository that
   * is gone, or known to others than before. `follows`: the same of an account. `owner`: all that an account had which
   * is gone. `files`, `contents`: the files, the issues and releases of a repository that is gone. `comments`: those of an
   * issue that is. `package`: the files of a version that is gone. The id is that container's, repository's, account's,
   * issue's or version's.
   */
  kind: v.picklist(['entries', 'relations', 'follows', 'owner', 'files', 'contents', 'comments', 'package']),
  id,
})
export type Job = v.InferOutput<typeof Job>

/** What acknowledged changes have left to be done in steps: see lib/records/jobs.ts. */
export const jobs = collection({
  name: 'errand',
  schema: Job,
  id: (errand) => [errand.kind, errand.id],
  ordered: { kind: (errand) => [errand.kind] },
  counted: { kind: (errand) => [errand.kind] },
})

/** All search indexes. */
export const searchIndexes = [accountNames, repositoryNames, issueTitles] as const

export const collections = [
  accounts,
  memberships,
  tokens,
  sessions,
  repositories,
  redirects,
  pendingFolders,
  pushJournal,
  files,
  stars,
  watches,
  follows,
  sshKeys,
  gpgKeys,
  rules,
  groups,
  assignments,
  ownerUsages,
  dailyUsages,
  repositoryUsages,
  ledgerEntries,
  issueSequences,
  issues,
  comments,
  releases,
  attachments,
  packageVersions,
  packageFiles,
  jobs,
  migrated,
] as const

/** A sequence and the records that its numbers were given to. */
export interface NumberedRecords {
  readonly sequence: string
  readonly collection: string
  numbersOf(record: unknown): readonly number[]
}

const numberedRecords = <R>(
  sequence: string,
  { options }: { readonly options: { readonly name: string; readonly schema: v.GenericSchema<R> } },
  numbersOf: (record: R) => readonly number[],
): NumberedRecords => ({
  sequence,
  collection: options.name,
  numbersOf: (record) => numbersOf(record as R),
})

/** Every sequence, for the integrity check: a sequence must be above each number that a record has. */
export const numbered: readonly NumberedRecords[] = [
  numberedRecords('account', accounts, (account) => [account.id]),
  numberedRecords('repository', repositories, (repository) => [repository.id]),
  numberedRecords('landing', pushJournal, (landing) => [landing.id]),
  numberedRecords('token', tokens, (token) => [token.id]),
  numberedRecords('sshKey', sshKeys, (key) => [key.id]),
  numberedRecords('gpgKey', gpgKeys, (key) => [key.id, ...key.subkeys.map((subkey) => subkey.id)]),
  numberedRecords('rule', rules, (rule) => [rule.sequence]),
  numberedRecords('group', groups, (group) => [group.sequence]),
  numberedRecords('issue', issues, (issue) => [issue.id]),
  numberedRecords('comment', comments, (comment) => [comment.id]),
  numberedRecords('release', releases, (release) => [release.id]),
  numberedRecords('attachment', attachments, (attachment) => [attachment.id]),
  numberedRecords('packageVersion', packageVersions, (one) => [one.id]),
  numberedRecords('packageFile', packageFiles, (file) => [file.id]),
]
