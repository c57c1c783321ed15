import {
  check,
  type Find,
  type IntegrityChecks,
  lookup,
  pendingJob,
  type Report,
  repairMembers,
} from '../integrity/index.ts'
import {
  type Audience,
  accounts,
  assignments,
  follows,
  formerNames,
  gpgKeys,
  jobs,
  ledgerEntries,
  memberships,
  ownerUsages,
  quotaOwners,
  sessions,
  sshKeys,
  teamMembers,
  teams,
  tokens,
} from '../records/schema/index.ts'
import { audienceOfAccount } from './access.ts'

const accountAudience = lookup(accounts, audienceOfAccount)
const isOrganization = lookup(accounts, ({ kind }) => (kind === 'organization' ? 1 : 0))
const teamIds = lookup(teams)
const quotaOwner = lookup(quotaOwners)
const pendingRemoval = pendingJob('removeAccountData')
const pendingFollows = pendingJob('updateFollows')

export const hasAccount = (find: Find, id: number): boolean => find(accountAudience, id) !== undefined

export const findAudience = (find: Find, account: number) =>
  find(accountAudience, account) as Audience | undefined

/** Reports a reference to an account that does not exist, unless a job is removing everything that it had. */
export const requireAccount = (find: Find, id: number, reference: string, report: Report): void => {
  if (!hasAccount(find, id) && find(pendingRemoval, id) === undefined)
    report(`${reference} account ${id}, which does not exist`)
}

/**
 * Reports a reference of what counts toward quota to an owner that does not exist. The owner may not be an
 * account.
 */
const requireOwner = (find: Find, id: number, reference: string, report: Report): void => {
  if (find(quotaOwner, id) === undefined) requireAccount(find, id, reference, report)
}

const ownedBy = (collection: typeof tokens | typeof sshKeys | typeof gpgKeys, name: string) =>
  check<{ id: number; account: number }>(collection as never, ({ id, account }, find, report) =>
    requireAccount(find, account, `the ${name} ${id} belongs to`, report),
  )

const followAudiences = check(follows, (follow, find, report) => {
  const { follower, followed } = follow
  requireAccount(find, follower, 'a follow is by', report)
  requireAccount(find, followed, 'a follow is of', report)
  const sides = [
    { account: follower, member: 'followerAudience' },
    { account: followed, member: 'followedAudience' },
  ] as const
  for (const { account, member } of sides) {
    const audience = findAudience(find, account)
    if (audience === undefined || audience === follow[member] || find(pendingFollows, account) !== undefined)
      continue
    report(
      `the follow of account ${followed} by ${follower} has the ${member} ${follow[member]}, but must have ${audience}`,
      (tx) => repairMembers(tx, follows, [follower, followed], { [member]: audience }),
    )
  }
})

/** Checks of what accounts derive from each other, and of references to accounts in lower layers. */
export const accountsIntegrity: IntegrityChecks = {
  lookups: [accountAudience, isOrganization, teamIds, quotaOwner, pendingRemoval, pendingFollows],
  recounts: [],
  checks: [
    followAudiences,
    check(memberships, ({ organization, member }, find, report) => {
      requireAccount(find, member, `a member of organization ${organization} is`, report)
      if (find(isOrganization, organization) !== 1 && find(pendingRemoval, organization) === undefined)
        report(`account ${member} is a member of organization ${organization}, which does not exist`)
    }),
    check(teams, ({ id, organization }, find, report) => {
      if (find(isOrganization, organization) !== 1 && find(pendingRemoval, organization) === undefined)
        report(`team ${id} belongs to organization ${organization}, which does not exist`)
    }),
    check(teamMembers, ({ account, organization, team }, find, report) => {
      requireAccount(find, account, `a member of team ${team} is`, report)
      if (find(teamIds, team) === undefined && find(pendingRemoval, organization) === undefined)
        report(`account ${account} is a member of team ${team}, which does not exist`)
    }),
    check(formerNames, ({ name, account }, find, report) =>
      requireAccount(find, account, `the former name ${name} leads to`, report),
    ),
    ownedBy(tokens, 'token'),
    check(sessions, ({ account }, find, report) =>
      requireAccount(find, account, 'a session belongs to', report),
    ),
    ownedBy(sshKeys, 'SSH key'),
    ownedBy(gpgKeys, 'GPG key'),
    check(jobs, ({ kind, id }, find, report) => {
      if (kind !== 'removeAccountData') return
      if (hasAccount(find, id) || find(quotaOwner, id) !== undefined)
        report(`a job removes everything of account ${id}, which still exists`)
    }),
    check(ownerUsages, ({ owner, day: _, ...usage }, find, report) => {
      const isUnused = Object.values(usage).every((size) => size === 0)
      requireOwner(find, owner, 'usage is stored of', (message) =>
        report(
          message,
          isUnused ? async (tx) => (await ownerUsages.remove(tx, [owner])) !== undefined : undefined,
        ),
      )
    }),
    check(ledgerEntries, ({ kind, key, partitionOwner }, find, report) => {
      if (partitionOwner !== null)
        requireOwner(
          find,
          partitionOwner,
          `the ledger entry ${kind} ${JSON.stringify(key)} counts for`,
          report,
        )
    }),
    check(assignments, ({ owner, group }, find, report) =>
      requireOwner(find, owner, `the quota group ${group} has`, report),
    ),
  ],
}
