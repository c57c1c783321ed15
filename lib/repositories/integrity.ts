import { audienceOfAccount, audienceWithin } from '../accounts/access.ts'
import {
  type Amount,
  amountSource,
  check,
  type Fault,
  type IntegrityChecks,
  type LookupValue,
  lookup,
  type Recount,
  type RepairAction,
} from '../integrity/checks.ts'
import { readable, repairMembers } from '../integrity/repair-record.ts'
import {
  type Audience,
  accounts,
  assignments,
  follows,
  gpgKeys,
  type Job,
  jobs,
  ledgerEntries,
  memberships,
  noOwnEntries,
  ownerUsages,
  type Relation,
  redirects,
  repositories,
  repositoryUsages,
  sessions,
  sshKeys,
  stars,
  tokens,
  watches,
} from '../records/schema/index.ts'

const audienceOf = lookup(accounts, audienceOfAccount)
const isOrganization = lookup(accounts, (account) => (account.kind === 'organization' ? 1 : 0))
const repositoryAudience = lookup(repositories, (repository) => repository.audience)

/** What is gone, or known to others than before, and not swept yet: see lib/records/jobs.ts. */
const underWay = (kind: Job['kind']) =>
  lookup(
    jobs,
    () => 1,
    (job) => (job.kind === kind ? job.id : undefined),
  )
const sweptOwner = underWay('owner')
const sweptRelations = underWay('relations')
const toldFollows = underWay('follows')

const audienceOfKnown = (known: LookupValue, account: number) =>
  known(audienceOf, account) as Audience | undefined

/** @param whose ends with a word that an id may follow */
const needsAccount = (known: LookupValue, id: number, whose: string): Fault[] =>
  audienceOfKnown(known, id) === undefined && known(sweptOwner, id) === undefined
    ? [{ message: `${whose} ${id}, and there is no such account` }]
    : []

const needsAudience = (name: string, is: Audience, due: Audience | undefined, mend: RepairAction): Fault[] =>
  due === undefined || due === is
    ? []
    : [{ message: `${name} has the audience ${is}, and it must be ${due}`, repair: mend }]

const lookAtRelation = (relation: typeof stars, word: string) =>
  check(relation, (one: Relation, known) => {
    const name = `the ${word} of account ${one.account} on repository ${one.repository}`
    const due = known(repositoryAudience, one.repository) as Audience | undefined
    const isSwept = known(sweptRelations, one.repository) !== undefined
    if (isSwept) return needsAccount(known, one.account, `a ${word} is of account`)
    return [
      ...needsAccount(known, one.account, `a ${word} is of account`),
      ...(due === undefined ? [{ message: `${name}: there is no such repository` }] : []),
      ...needsAudience(name, one.audience, due, (tx) =>
        repairMembers(tx, relation, [one.account, one.repository], { audience: due as Audience }),
      ),
    ]
  })

const lookAtRepository = check(repositories, (one, known) => {
  const name = `repository ${one.id}`
  const owner = audienceOfKnown(known, one.owner)
  const due = owner === undefined ? undefined : audienceWithin(owner, one.private)
  const isOrphan = one.parent !== null && known(repositoryAudience, one.parent) === undefined
  return [
    ...needsAccount(known, one.owner, `${name} is owned by`),
    ...(isOrphan ? [{ message: `${name} is a fork of ${one.parent}, and there is no such repository` }] : []),
    ...needsAudience(name, one.audience, due, (tx) =>
      repairMembers(tx, repositories, [one.id], { audience: due as Audience }),
    ),
  ]
})

const lookAtFollow = check(follows, (one, known) => {
  const name = `the follow of ${one.follower} to ${one.followed}`
  const repaired = (right: Partial<typeof one>) => (tx: Parameters<RepairAction>[0]) =>
    repairMembers(tx, follows, [one.follower, one.followed], right)
  const follower = audienceOfKnown(known, one.follower)
  const followed = audienceOfKnown(known, one.followed)
  return [
    ...needsAccount(known, one.follower, 'a follow is by'),
    ...needsAccount(known, one.followed, 'a follow is to'),
    ...needsAudience(
      `${name}: the follower`,
      one.followerAudience,
      known(toldFollows, one.follower) === undefined ? follower : undefined,
      repaired({ followerAudience: follower as Audience }),
    ),
    ...needsAudience(
      `${name}: the followed`,
      one.followedAudience,
      known(toldFollows, one.followed) === undefined ? followed : undefined,
      repaired({ followedAudience: followed as Audience }),
    ),
  ]
})

const lookAtMembership = check(memberships, ({ organization, member }, known) => [
  ...needsAccount(known, member, `a member of ${organization} is`),
  ...(known(isOrganization, organization) === 1 || known(sweptOwner, organization) !== undefined
    ? []
    : [{ message: `${member} is a member of ${organization}, and there is no such organization` }]),
])

const lookAtOwned = (of: typeof sshKeys | typeof gpgKeys | typeof tokens, word: string) =>
  check<{ id: number; account: number }>(of as never, ({ id, account }, known) =>
    needsAccount(known, account, `the ${word} ${id} is of account`),
  )

const lookAtUsage = check(ownerUsages, ({ owner, day: _, ...usage }, known) => {
  const mend: RepairAction = async (tx) => (await ownerUsages.remove(tx, [owner])) !== undefined
  // What somebody still counts for is no leftover.
  const isLeftover = Object.values(usage).every((size) => size === 0)
  return needsAccount(known, owner, 'usage is kept of').map((one) =>
    isLeftover ? { ...one, repair: mend } : one,
  )
})

const recountOn = (member: 'stars' | 'watchers' | 'forks', ...counted: Recount['counted']): Recount => ({
  name: `${member} of repository`,
  counted,
  stored: [amountSource(repositories, (one) => [[[one.id], one[member]]])],
  repair: (tx, id, amount) => repairMembers(tx, repositories, id, { [member]: amount }),
})
/** Those of a repository that is gone are nobody's any more. */
const eachOn = (relation: typeof stars) =>
  amountSource(relation, (one: Relation, known) =>
    known(repositoryAudience, one.repository) === undefined ? [] : [[[one.repository], 1]],
  )

/** A repository says of its LFS objects what quota counts of them. */
const sameLfs: Recount = {
  name: 'LFS of repository',
  counted: [amountSource(repositoryUsages, (one) => [[[one.id], one.lfs]])],
  stored: [amountSource(repositories, (one) => [[[one.id], one.lfs]])],
  repair: (tx, id, amount) => repairMembers(tx, repositories, id, { lfs: amount }),
}

/** Every repository is one for quota too, with the same owner, privacy and size. */
const sameForQuota: Recount = {
  name: 'quota of repository',
  counted: [amountSource(repositories, (one) => membersOf(one.id, one.owner, one.private, one.size))],
  stored: [amountSource(repositoryUsages, (one) => membersOf(one.id, one.owner, one.private, one.git))],
  async repair(tx, [id]) {
    const repository = await readable(tx, repositories, [id!])
    // What was last known of a broken one still counts.
    if (repository === 'broken') return false
    if (repository === undefined) return (await repositoryUsages.remove(tx, [id!])) !== undefined
    const { owner, private: isPrivate, size } = repository
    const same = { id: repository.id, owner, private: isPrivate, git: size }
    const { lfs, issues, releases, artifacts, packages, lent, kept, largest } =
      (await repositoryUsages.get(tx, [id!])) ?? empty
    await repositoryUsages.save(tx, {
      ...same,
      lfs,
      issues,
      releases,
      artifacts,
      packages,
      lent,
      kept,
      largest,
    })
    return true
  },
}
const empty = { lfs: 0, issues: 0, releases: 0, artifacts: 0, packages: 0, lent: 0, ...noOwnEntries }

const membersOf = (id: number, owner: number, isPrivate: boolean, git: number): Amount[] => [
  [[id, 'owner'], owner],
  [[id, 'private'], isPrivate ? 1 : 0],
  [[id, 'git'], git],
]

/** What accounts, repositories and their relations derive from each other, for `verify`. */
export const hostingIntegrity: IntegrityChecks = {
  derived: [],
  lookups: [audienceOf, isOrganization, repositoryAudience, sweptOwner, sweptRelations, toldFollows],
  recounts: [
    recountOn('stars', eachOn(stars)),
    recountOn('watchers', eachOn(watches)),
    recountOn(
      'forks',
      amountSource(repositories, (one) => (one.parent === null ? [] : [[[one.parent], 1]])),
    ),
    sameForQuota,
    sameLfs,
  ],
  checks: [
    lookAtRepository,
    lookAtRelation(stars, 'star'),
    lookAtRelation(watches, 'watch'),
    lookAtFollow,
    lookAtMembership,
    lookAtOwned(tokens, 'token'),
    check(sessions, ({ account }, known) => needsAccount(known, account, 'a session is of account')),
    lookAtOwned(sshKeys, 'SSH key'),
    lookAtOwned(gpgKeys, 'GPG key'),
    lookAtUsage,
    check(jobs, ({ kind, id }, known) =>
      kind === 'owner' && audienceOfKnown(known, id) !== undefined
        ? [{ message: `all that account ${id} has is to be removed, and it is still there` }]
        : [],
    ),
    check(ledgerEntries, ({ kind, key, owner }, known) =>
      owner === null
        ? []
        : needsAccount(known, owner, `the ledger entry ${kind} ${JSON.stringify(key)} is of`),
    ),
    check(redirects, ({ owner, name, repository }, known) => [
      ...needsAccount(known, owner, `the former repository name ${name} is of account`),
      ...(known(repositoryAudience, repository) === undefined
        ? [{ message: `the former name ${name} leads to repository ${repository}, which does not exist` }]
        : []),
    ]),
    check(assignments, ({ owner, group }, known) =>
      needsAccount(known, owner, `the group ${group} is assigned to`),
    ),
  ],
}
