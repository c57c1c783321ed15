import * as v from 'valibot'
import { longestKeys, ngramKeys } from '../../search/index.ts'
import { Collection } from '../collection.ts'
import { audienceOf, id, seconds, Visibility } from '../fields.ts'

/** Settings that clients with a user interface keep for their user: Allot's answers do not depend on them. */
const Preferences = v.object({
  /** Language of the user interface, such as `de-DE`; empty: the client chooses. */
  language: v.string(),
  /** Name of a theme of the user interface. */
  theme: v.string(),
  /** How the user interface shows differences; empty: the client chooses. */
  diffViewStyle: v.string(),
  /**
   * Whether a user interface hides the email address; the API shows it to the user and administrators only.
   */
  hideEmail: v.boolean(),
  /** Whether a user interface hides what the user does. */
  hideActivity: v.boolean(),
})
export type Preferences = v.InferOutput<typeof Preferences>

const Account = v.object({
  /** Identifies the account; it never changes and is not used again. */
  id,
  /** Users and organizations share one namespace. */
  kind: v.picklist(['user', 'organization']),
  /** Login name, unique without regard to case. */
  name: v.string(),
  /** Name to show; empty when there is none. */
  fullName: v.string(),
  /** Address of a user; empty when there is none. */
  email: v.string(),
  /** URL; empty when there is none. */
  website: v.string(),
  /** Free text of the account about itself; may be empty. */
  description: v.string(),
  /** Place to show; empty when there is none. */
  location: v.string(),
  /**
   * Who can see the account: everyone, signed-in users (`limited`), or itself, its members and
   * administrators (`private`).
   */
  visibility: Visibility,
  /** Whether the user administers the instance. */
  admin: v.boolean(),
  /** Whether the user can sign in. Otherwise requests with the user's credentials get 403. */
  active: v.boolean(),
  /** An scrypt hash; null when the account signs in with tokens or through the host only. */
  password: v.nullable(v.string()),
  /** The link with which the user can set a password once; absent: none. */
  passwordLink: v.optional(
    v.object({
      /** SHA-256 of its code, in hex. */
      hash: v.string(),
      /** When it ends, in seconds since 1970. */
      expiresAt: seconds,
    }),
  ),
  /** What the host's own login said last about its user; absent for all other accounts. */
  host: v.optional(
    v.object({
      /** The host's id of the user, which no other account has. */
      id: v.string(),
      /** The user's name at the host. */
      username: v.optional(v.string()),
      /** Name to show. */
      name: v.optional(v.string()),
      /** Address. */
      email: v.optional(v.string()),
    }),
  ),
  /** Settings that clients keep for the user; absent until the user changes one. */
  preferences: v.optional(Preferences),
  /** When it got its name, in seconds since 1970; absent: when it was created. */
  namedAt: v.optional(seconds),
  /** When it was created, in seconds since 1970. */
  createdAt: seconds,
  /** When it was last changed, in seconds since 1970. */
  updatedAt: seconds,
})
/** A user or an organization, as the store has it. */
export type Account = v.InferOutput<typeof Account>

/** What users are searched for by. */
const textsOf = ({ kind, name, fullName }: Account) => (kind === 'user' ? [name, fullName] : undefined)

/**
 * The audience of an account in the keys of its n-grams: a text, since a number takes so many bytes that
 * LevelDB would count the deletions of all n-grams together, and compact them together
 * (drivers/level/abstract.ts).
 */
export const audienceText = ({ visibility }: Pick<Account, 'visibility'>): string =>
  String(audienceOf[visibility])

export const accounts = new Collection({
  name: 'account',
  schema: Account,
  id: (account) => [account.id],
  numbers: { sequence: 'account' },
  unique: {
    name: (account) => [account.name.toLowerCase()],
    email: (account) =>
      account.kind === 'user' && account.email !== '' ? [account.email.toLowerCase()] : undefined,
    host: (account) => account.host && [account.host.id],
  },
  ordered: {
    name: (account) => [account.kind, account.name.toLowerCase()],
    ngrams: (account) => ngramKeys([audienceText(account)], textsOf(account)),
  },
  counted: {
    kind: (account) => [account.kind],
    longest: (account) => longestKeys([audienceText(account)], textsOf(account)),
    // 1 for each account: who can see it is read without its record, for many at once.
    audience: (account) => [audienceOf[account.visibility], account.id],
  },
})

const FormerName = v.object({ name: v.string(), account: id, createdAt: seconds })

/** Former names of users and organizations, in lower case (lib/accounts/account-records.ts). */
export const formerNames = new Collection({
  name: 'formerName',
  schema: FormerName,
  id: (former) => [former.name],
  ordered: { account: (former) => [former.account, former.createdAt] },
  belongsTo: [{ to: 'account', by: 'account', removed: 'now' }],
})

const Membership = v.object({
  organization: id,
  member: id,
  owner: v.boolean(),
  /**
   * Whether the member created the organization; kept while the member is an owner, absent for all others.
   */
  founder: v.optional(v.boolean()),
  /** Whether everyone who sees the organization may know of the membership; absent: no. */
  public: v.optional(v.boolean()),
  /**
   * Whether the member has only the rights of its teams; absent: the member can write to all repositories.
   */
  byTeam: v.optional(v.boolean()),
  createdAt: seconds,
})
export type Membership = v.InferOutput<typeof Membership>

export const memberships = new Collection({
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
  belongsTo: [
    { to: 'account', by: 'member', removed: 'now' },
    { to: 'organization', by: 'organization' },
  ],
})
