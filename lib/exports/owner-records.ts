import { assignedTo } from '../quota/group-assignments.ts'
import {
  avatars,
  type CollectionName,
  collaborators,
  commitStatuses,
  dailyUsages,
  emailAddresses,
  gpgKeys,
  issueEvents,
  issueSequences,
  issueSubscriptions,
  issues,
  type Job,
  jobs,
  lfsCopies,
  memberships,
  ownerUsages,
  packageVersions,
  pushJournal,
  redirects,
  releases,
  repositoryUsages,
  STARS,
  sessions,
  sshKeys,
  teamMembers,
  teamRepositories,
  teams,
  tokens,
  transfers,
  WATCHES,
} from '../records/schema/index.ts'
import {
  accountIds,
  below,
  byId,
  type OwnerSelection,
  ofAccounts,
  ofRepositories,
  repositoryIds,
  type Select,
  within,
} from './owner-selection.ts'
import {
  groupsOf,
  ofIssues,
  relation,
  selectAttachments,
  selectComments,
  selectDeliveries,
  selectEntries,
  selectFiles,
  selectFollows,
  selectHookQueues,
  selectHooks,
  selectPackageFiles,
  selectRepositories,
  selectRules,
} from './owner-selectors.ts'

/**
 * The kind of selected records that a job moves with. A job that removes the data of a deleted record does
 * not move.
 */
const MOVES_WITH: Record<Job['kind'], 'accounts' | 'repositories' | undefined> = {
  updateRelations: 'repositories',
  copyLfsObjects: 'repositories',
  updateFollows: 'accounts',
  removeAccountData: undefined,
  removeRepositoryContents: undefined,
  removeRepositoryFiles: undefined,
  removeLedgerEntries: undefined,
  removeAssignments: undefined,
  removeComments: undefined,
  removePackageFiles: undefined,
  removeDeliveries: undefined,
}

async function* selectJobs(selection: OwnerSelection): AsyncGenerator<unknown> {
  for await (const job of jobs.all(selection.tx)) {
    const selected = MOVES_WITH[job.kind]
    if (selected !== undefined && selection[selected].has(job.id)) yield job
  }
}

/**
 * Selects the records of each collection, by its name. Records that belong to no owner or have no effect in
 * another store are left out.
 */
const SELECT: Readonly<Record<CollectionName, Select | 'left out'>> = {
  account: async function* ({ accounts }) {
    yield* accounts.values()
  },
  avatar: byId(accountIds, avatars),
  // A former name redirects within one store. In another one, an account may have taken it.
  formerName: 'left out',
  emailAddress: ofAccounts(emailAddresses, 'account'),
  membership: within('memberships', ofAccounts(memberships, 'member'), ({ organization }) => ({
    accounts: [organization],
  })),
  token: ofAccounts(tokens, 'account'),
  session: ofAccounts(sessions, 'account'),
  repository: selectRepositories,
  redirect: within('redirects of repositories', below(redirects), ({ repository }) => ({
    repositories: [repository],
  })),
  pendingFolder: 'left out',
  pushJournal: async function* ({ tx, repositories }) {
    for await (const push of pushJournal.all(tx)) if (repositories.has(push.repository)) yield push
  },
  file: selectFiles,
  lfsCopy: within('LFS objects on their way into forks', byId(repositoryIds, lfsCopies), ({ source }) => ({
    repositories: [source],
  })),
  star: relation(STARS),
  watch: relation(WATCHES),
  follow: selectFollows,
  collaborator: within('collaborators', ofRepositories(collaborators, 'repository'), ({ account }) => ({
    accounts: [account],
  })),
  team: ofAccounts(teams, 'organization'),
  teamMember: ofAccounts(teamMembers, 'organization'),
  teamRepository: within(
    'rights of teams',
    ofAccounts(teamRepositories, 'organization'),
    ({ repository }) => ({
      repositories: [repository],
    }),
  ),
  transfer: within('offers of repositories', byId(repositoryIds, transfers), ({ doer, recipient }) => ({
    accounts: [doer, recipient],
  })),
  sshKey: ofAccounts(sshKeys, 'account'),
  gpgKey: ofAccounts(gpgKeys, 'account'),
  rule: selectRules,
  group: async function* (selection) {
    yield* await groupsOf(selection)
  },
  removedGroup: 'left out',
  assignment: async function* ({ tx, accounts }) {
    for (const owner of accounts.keys())
      for (const group of await assignedTo(tx, owner)) yield { owner, group }
  },
  quotaOwner: 'left out',
  ownerUsage: byId(accountIds, ownerUsages),
  dailyUsage: below(dailyUsages),
  repositoryUsage: byId(repositoryIds, repositoryUsages),
  ledger: selectEntries,
  issueSequence: byId(repositoryIds, issueSequences),
  issue: ofRepositories(issues, 'state'),
  comment: selectComments,
  issueEvent: ofIssues(issueEvents, 'issue'),
  issueSubscription: within(
    'subscriptions of issues',
    ofIssues(issueSubscriptions, 'issue'),
    ({ account }) => ({
      accounts: [account],
    }),
  ),
  commitStatus: ofRepositories(commitStatuses, 'repository'),
  release: ofRepositories(releases, 'time'),
  attachment: selectAttachments,
  packageVersion: ofAccounts(packageVersions, 'created'),
  packageFile: selectPackageFiles,
  hook: selectHooks,
  delivery: selectDeliveries,
  hookQueue: selectHookQueues,
  // Another server sends, and takes a lease of its own.
  hookLease: 'left out',
  job: selectJobs,
  migrationLog: 'left out',
  audit: 'left out',
}

/** The selected records of a collection. */
export const selectRecords = (
  selection: OwnerSelection,
  collection: CollectionName,
): AsyncIterable<unknown> => {
  const select = SELECT[collection]
  return select === 'left out' ? nothing() : select(selection)
}

async function* nothing(): AsyncGenerator<never> {}
