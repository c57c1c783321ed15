import { amend, readable } from '../records/proof/amend.ts'
import {
  type Amount,
  claim,
  type Fault,
  fact,
  type Known,
  look,
  type Mend,
  type Proof,
  type Recount,
} from '../records/proof/declare.ts'
import {
  type Audience,
  accounts,
  assignments,
  containers,
  type Errand,
  errands,
  follows,
  gpgKeys,
  ledgerEntries,
  memberships,
  nothingKept,
  ownerUsages,
  type Relation,
  redirects,
  repositories,
  sessions,
  sshKeys,
  stars,
  tokens,
  watches,
} from '../records/schema.ts'
import { audienceOfAccount, audienceWithin } from './access.ts'

const audienceOf = fact(accounts, audienceOfAccount)
const isOrganization = fact(accounts, (account) => (account.kind === 'organization' ? 1 : 0))
const repositoryAudience = fact(repositories, (repository) => repository.audience)

/** What is gone, or known to others than before, and not swept yet: see lib/records/errands.ts. */
const underWay = (kind: Errand['kind']) =>
  fact(
    errands,
    () => 1,
    (errand) => (errand.kind === kind ? errand.id : undefined),
  )
const sweptOwner = underWay('owner')
const sweptRelations = underWay('relations')
const toldFollows = underWay('follows')

const audienceOfKnown = (known: Known, account: number) => known(audienceOf, account) as Audience | undefined

/** @param whose ends with a word that an id may follow */
const needsAccount = (known: Known, id: number, whose: string): Fault[] =>
  audienceOfKnown(known, id) === undefined && known(sweptOwner, id) === undefined
    ? [{ says: `${whose} ${id}, and there is no such account` }]
    : []

const needsAudience = (name: string, is: Audience, due: Audience | undefined, mend: Mend): Fault[] =>
  due === undefined || due === is
    ? []
    : [{ says: `${name} has the audience ${is}, and it must be ${due}`, mend }]

const lookAtRelation = (relation: typeof stars, word: string) =>
  look(relation, (one: Relation, known) => {
    const name = `the ${word} of account ${one.account} on repository ${one.repository}`
    const due = known(repositoryAudience, one.repository) as Audience | undefined
    const isSwept = known(sweptRelations, one.repository) !== undefined
    if (isSwept) return needsAccount(known, one.account, `a ${word} is of account`)
    return [
      ...needsAccount(known, one.account, `a ${word} is of account`),
      ...(due === undefined ? [{ says: `${name}: there is no such repository` }] : []),
      ...needsAudience(name, one.audience, due, (tx) =>
        amend(tx, relation, [one.account, one.repository], { audience: due as Audience }),
      ),
    ]
  })

const lookAtRepository = look(repositories, (one, known) => {
  const name = `repository ${one.id}`
  const owner = audienceOfKnown(known, one.owner)
  const due = owner === undefined ? undefined : audienceWithin(owner, one.private)
  const isOrphan = one.parent !== null && known(repositoryAudience, one.parent) === undefined
  return [
    ...needsAccount(known, one.owner, `${name} is owned by`),
    ...(isOrphan ? [{ says: `${name} is a fork of ${one.parent}, and there is no such repository` }] : []),
    ...needsAudience(name, one.audience, due, (tx) =>
      amend(tx, repositories, [one.id], { audience: due as Audience }),
    ),
  ]
})

const lookAtFollow = look(follows, (one, known) => {
  const name = `the follow of ${one.follower} to ${one.followed}`
  const mended = (right: Partial<typeof one>) => (tx: Parameters<Mend>[0]) =>
    amend(tx, follows, [one.follower, one.followed], right)
  const follower = audienceOfKnown(known, one.follower)
  const followed = audienceOfKnown(known, one.followed)
  return [
    ...needsAccount(known, one.follower, 'a follow is by'),
    ...needsAccount(known, one.followed, 'a follow is to'),
    ...needsAudience(
      `${name}: the follower`,
      one.followerAudience,
      known(toldFollows, one.follower) === undefined ? follower : undefined,
      mended({ followerAudience: follower as Audience }),
    ),
    ...needsAudience(
      `${name}: the followed`,
      one.followedAudience,
      known(toldFollows, one.followed) === undefined ? followed : undefined,
      mended({ followedAudience: followed as Audience }),
    ),
  ]
})

const lookAtMembership = look(memberships, ({ organization, member }, known) => [
  ...needsAccount(known, member, `a member of ${organization} is`),
  ...(known(isOrganization, organization) === 1 || known(sweptOwner, organization) !== undefined
    ? []
    : [{ says: `${member} is a member of ${organization}, and there is no such organization` }]),
])

const lookAtOwned = (of: typeof sshKeys | typeof gpgKeys | typeof tokens, word: string) =>
  look<{ id: number; account: number }>(of as never, ({ id, account }, known) =>
    needsAccount(known, account, `the ${word} ${id} is of account`),
  )

const lookAtUsage = look(ownerUsages, ({ owner, day: _, ...usage }, known) => {
  const mend: Mend = async (tx) => (await ownerUsages.remove(tx, [owner])) !== undefined
  // What somebody still counts for is no leftover.
  const isLeftover = Object.values(usage).every((size) => size === 0)
  return needsAccount(known, owner, 'usage is kept of').map((one) => (isLeftover ? { ...one, mend } : one))
})

const recountOn = (member: 'stars' | 'watchers' | 'forks', ...counted: Recount['counted']): Recount => ({
  name: `${member} of repository`,
  counted,
  kept: [claim(repositories, (one) => [[[one.id], one[member]]])],
  mend: (tx, id, amount) => amend(tx, repositories, id, { [member]: amount }),
})
/** Those of a repository that is gone are nobody's any more. */
const eachOn = (relation: typeof stars) =>
  claim(relation, (one: Relation, known) =>
    known(repositoryAudience, one.repository) === undefined ? [] : [[[one.repository], 1]],
  )

/** A repository says of its LFS objects what quota counts of them. */
const sameLfs: Recount = {
  name: 'LFS of repository',
  counted: [claim(containers, (one) => [[[one.id], one.lfs]])],
  kept: [claim(repositories, (one) => [[[one.id], one.lfs]])],
  mend: (tx, id, amount) => amend(tx, repositories, id, { lfs: amount }),
}

/** Every repository is one for quota too, with the same owner, privacy and size. */
const sameForQuota: Recount = {
  name: 'quota of repository',
  counted: [claim(repositories, (one) => membersOf(one.id, one.owner, one.private, one.size))],
  kept: [claim(containers, (one) => membersOf(one.id, one.owner, one.private, one.git))],
  async mend(tx, [id]) {
    const repository = await readable(tx, repositories, [id!])
    // What was last known of a broken one still counts.
    if (repository === 'broken') return false
    if (repository === undefined) return (await containers.remove(tx, [id!])) !== undefined
    const { owner, private: isPrivate, size } = repository
    const same = { id: repository.id, owner, private: isPrivate, git: size }
    const { lfs, issues, releases, artifacts, packages, lent, kept, largest } =
      (await containers.get(tx, [id!])) ?? empty
    await containers.save(tx, { ...same, lfs, issues, releases, artifacts, packages, lent, kept, largest })
    return true
  },
}
const empty = { lfs: 0, issues: 0, releases: 0, artifacts: 0, packages: 0, lent: 0, ...nothingKept }

const membersOf = (id: number, owner: number, isPrivate: boolean, git: number): Amount[] => [
  [[id, 'owner'], owner],
  [[id, 'private'], isPrivate ? 1 : 0],
  [[id, 'git'], git],
]

/** What accounts, repositories and their relations derive from each other, for `verify`. */
export const hostingProof: Proof = {
  derived: [],
  facts: [audienceOf, isOrganization, repositoryAudience, sweptOwner, sweptRelations, toldFollows],
  recounts: [
    recountOn('stars', eachOn(stars)),
    recountOn('watchers', eachOn(watches)),
    recountOn(
      'forks',
      claim(repositories, (one) => (one.parent === null ? [] : [[[one.parent], 1]])),
    ),
    sameForQuota,
    sameLfs,
  ],
  looks: [
    lookAtRepository,
    lookAtRelation(stars, 'star'),
    lookAtRelation(watches, 'watch'),
    lookAtFollow,
    lookAtMembership,
    lookAtOwned(tokens, 'token'),
    look(sessions, ({ account }, known) => needsAccount(known, account, 'a session is of account')),
    lookAtOwned(sshKeys, 'SSH key'),
    lookAtOwned(gpgKeys, 'GPG key'),
    lookAtUsage,
    look(errands, ({ kind, id }, known) =>
      kind === 'owner' && audienceOfKnown(known, id) !== undefined
        ? [{ says: `all that account ${id} has is to be removed, and it is still there` }]
        : [],
    ),
    look(ledgerEntries, ({ kind, key, owner }, known) =>
      owner === null
        ? []
        : needsAccount(known, owner, `the ledger entry ${kind} ${JSON.stringify(key)} is of`),
    ),
    look(redirects, ({ owner, name, repository }, known) => [
      ...needsAccount(known, owner, `the former repository name ${name} is of account`),
      ...(known(repositoryAudience, repository) === undefined
        ? [{ says: `the former name ${name} leads to repository ${repository}, which does not exist` }]
        : []),
    ]),
    look(assignments, ({ owner, group }, known) =>
      needsAccount(known, owner, `the group ${group} is assigned to`),
    ),
  ],
}
