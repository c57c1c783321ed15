import {
  type Account,
  type Audience,
  audienceOf,
  type Repository,
  type Visibility,
} from '../../lib/records/schema/index.ts'
import type { Source } from './source.ts'
import type { SourceRepository } from './source-types.ts'

export const EVERYONE = 'everyone may see it'
export const SIGNED_IN = 'everyone signed in may see it'
export const WRITABLE = 'it is not archived'

/** Who may know of a thing, as rights that can be taken back. */
export const grantsOfAudience = (audience: Audience): string[] =>
  audience === 0 ? [EVERYONE, SIGNED_IN] : audience === 1 ? [SIGNED_IN] : []

/** A source that asks everyone to sign in has nothing that is public. */
export const visibilityAt = (source: Source, given: Visibility): Visibility =>
  given === 'public' && !source.isOpen ? 'limited' : given

/** A repository is never known to more people than its owner is. */
export const audienceAt = (
  source: Source,
  owner: Visibility,
  given: Pick<SourceRepository, 'private' | 'internal'>,
): Audience => (given.private || given.internal === true ? 2 : audienceOf[visibilityAt(source, owner)])

export const audienceHere = (
  owner: Account,
  { private: isPrivate }: Pick<Repository, 'private'>,
): Audience => (isPrivate ? 2 : audienceOf[owner.visibility])

/** The visibility that is left of an account when rights are taken back. */
export const visibilityWithout = (grants: readonly string[]): { visibility?: Visibility } => {
  if (grants.includes(SIGNED_IN)) return { visibility: 'private' }
  return grants.includes(EVERYONE) ? { visibility: 'limited' } : {}
}
