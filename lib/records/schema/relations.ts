import * as v from 'valibot'
import { collection } from '../collection.ts'
import { audience, id, seconds } from '../fields.ts'

/** A star or a watch: both have the same shape. */
const Relation = v.object({ account: id, repository: id, audience, createdAt: seconds })
export type Relation = v.InferOutput<typeof Relation>

const relation = (name: string) =>
  collection({
    name,
    schema: Relation,
    id: (relation: Relation) => [relation.account, relation.repository],
    ordered: {
      account: (relation: Relation) => [relation.account, relation.audience],
      repository: (relation: Relation) => [relation.repository, relation.audience],
    },
    counted: { account: (relation: Relation) => [relation.account, relation.audience] },
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
    // Follows to update when an account changes its visibility.
    asFollower: (follow) => [follow.follower, follow.followerAudience],
    asFollowed: (follow) => [follow.followed, follow.followedAudience],
  },
  counted: {
    following: (follow) => [follow.follower, follow.followedAudience],
    followers: (follow) => [follow.followed, follow.followerAudience],
  },
})
