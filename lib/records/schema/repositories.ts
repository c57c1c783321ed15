import * as v from 'valibot'
import { longestKeys, ngramKeys } from '../../search/index.ts'
import { Collection } from '../collection.ts'
import { bytes, id, integer, seconds } from '../fields.ts'

const Repository = v.object({
  /** Identifies the repository; it never changes and is not used again. */
  id,
  /** Id of the user or the organization. */
  owner: id,
  /** Name, unique among the repositories of the owner without regard to case. */
  name: v.string(),
  /** Description of the repository; empty when it has none. */
  description: v.string(),
  /** URL; empty when there is none. */
  website: v.string(),
  /** Whether only accounts with a right on it and administrators see it, and not all who see its owner. */
  private: v.boolean(),
  /** Whether it has no commit. */
  empty: v.boolean(),
  /** Whether it is read-only. */
  archived: v.boolean(),
  /** Topics in lower case, in alphabetical order; absent: none. */
  topics: v.optional(v.array(v.string())),
  /** Id of the repository that it was forked from; null for others. */
  parent: v.nullable(id),
  /** Branch that HEAD names. */
  defaultBranch: v.string(),
  /** Bytes of git data, without LFS. */
  size: bytes,
  /** Bytes of LFS objects. */
  lfs: bytes,
  /**
   * When its git data was first changed after its last clean-up, or that clean-up left something, in
   * milliseconds since 1970; absent: references reach all of it (lib/repositories/maintenance.ts). Each later
   * change adds one: a clean-up that has begun sees that something has changed.
   */
  uncleanedSince: v.optional(integer),
  /** Until when pushes wait while git deletes objects, in seconds since 1970; absent: they do not. */
  pushesWaitUntil: v.optional(seconds),
  /** Number of users who starred it. */
  stars: integer,
  /** Number of its forks. */
  forks: integer,
  /** Number of users who watch it. */
  watchers: integer,
  /** When it was created, in seconds since 1970. */
  createdAt: seconds,
  /** When it was last changed, in seconds since 1970. */
  updatedAt: seconds,
})
/** A repository, as the store has it. */
export type Repository = v.InferOutput<typeof Repository>

/**
 * With these begin the keys of the indexes by which repositories are listed. The visibility of the owner is
 * not among them, so that nothing moves when it changes.
 */
export const ownerAndPrivacy = (repository: Repository) => [repository.owner, repository.private] as const

export const repositories = new Collection({
  name: 'repository',
  schema: Repository,
  id: (repository) => [repository.id],
  numbers: { sequence: 'repository' },
  unique: { name: (repository) => [repository.owner, repository.name.toLowerCase()] },
  ordered: {
    id: (repository) => ownerAndPrivacy(repository),
    name: (repository) => [...ownerAndPrivacy(repository), repository.name.toLowerCase()],
    size: (repository) => [...ownerAndPrivacy(repository), repository.size + repository.lfs],
    updated: (repository) => [...ownerAndPrivacy(repository), repository.updatedAt],
    stars: (repository) => [...ownerAndPrivacy(repository), repository.stars],
    forks: (repository) => [...ownerAndPrivacy(repository), repository.forks],
    uncleaned: ({ uncleanedSince }) => (uncleanedSince === undefined ? undefined : [uncleanedSince]),
    parent: (repository) => (repository.parent === null ? undefined : [repository.parent]),
    ownerAndParent: (repository) =>
      repository.parent === null ? undefined : [repository.owner, repository.parent],
    // The id before the owner gives repositories of one name the order that they have in `name`.
    ngrams: ({ private: isPrivate, name, id, owner }) => ngramKeys([isPrivate], [name], [id, owner]),
  },
  counted: {
    owner: ownerAndPrivacy,
    longest: (repository) => longestKeys([repository.private], [repository.name]),
  },
  belongsTo: [
    { to: 'account', by: 'id' },
    { to: 'repository', by: 'parent' },
  ],
})

const Redirect = v.object({ owner: id, name: v.string(), repository: id, createdAt: seconds })
export type Redirect = v.InferOutput<typeof Redirect>

/** Former names of repositories, in lower case (lib/repositories/redirects.ts). */
export const redirects = new Collection({
  name: 'redirect',
  schema: Redirect,
  id: (redirect) => [redirect.owner, redirect.name],
  ordered: { repository: (redirect) => [redirect.repository, redirect.createdAt] },
  counted: { repository: (redirect) => [redirect.repository] },
  belongsTo: [{ to: 'account' }, { to: 'repository', by: 'repository', removed: 'now' }],
})

/** A star or a watch: both have the same shape. */
const Relation = v.object({ account: id, repository: id, createdAt: seconds })
export type Relation = v.InferOutput<typeof Relation>

const relation = (name: string) =>
  new Collection({
    name,
    schema: Relation,
    id: (relation: Relation) => [relation.account, relation.repository],
    ordered: { repository: (relation: Relation) => [relation.repository] },
    belongsTo: [{ to: 'account' }, { to: 'repository', by: 'repository' }],
  })
export const stars = relation('star')
export const watches = relation('watch')

/**
 * All relations of users to repositories: what counts, checks and removes them reads this list.
 * `count` is the member of a repository that counts them.
 */
export const RELATIONS = [
  { collection: stars, count: 'stars' },
  { collection: watches, count: 'watchers' },
] as const
export const [STARS, WATCHES] = RELATIONS
export type CountedRelation = (typeof RELATIONS)[number]
export type RelationCollection = CountedRelation['collection']

const Follow = v.object({ follower: id, followed: id, createdAt: seconds })
export type Follow = v.InferOutput<typeof Follow>

export const follows = new Collection({
  name: 'follow',
  schema: Follow,
  id: (follow) => [follow.follower, follow.followed],
  ordered: { followers: (follow) => [follow.followed] },
  belongsTo: [{ to: 'account' }, { to: 'account', by: 'followers' }],
})
