import { assignedTo } from '../quota/group-assignments.ts'
import {
  attachments,
  avatars,
  type CollectionName,
  collaborators,
  comments,
  commitStatuses,
  dailyUsages,
  deliveries,
  emailAddresses,
  files,
  follows,
  gpgKeys,
  groups,
  type Hook,
  hookQueues,
  hooks,
  invitations,
  issueEvents,
  issueSequences,
  issueSubscriptions,
  issues,
  type Job,
  jobs,
  ledgerEntries,
  lfsCopies,
  memberships,
  ownerUsages,
  packageFiles,
  packageVersions,
  pushJournal,
  REPOSITORY_AREAS,
  type RelationCollection,
  type Repository,
  redirects,
  releases,
  repositories,
  repositoryUsages,
  rules,
  sessions,
  sshKeys,
  stars,
  teamMembers,
  teamRepositories,
  teams,
  tokens,
  transfers,
  watches,
} from '../records/schema/index.ts'
import {
  accountIds,
  below,
  byId,
  type Indexed,
  leaveOut,
  listed,
  ofAccounts,
  ofRepositories,
  repositoryIds,
  type Select,
  type Selection,
  within,
} from './owner-selection.ts'

const relation = (name: string, relations: RelationCollection): Select =>
  within(name, ofAccounts(relations, 'account'), ({ repository }) => ({ repositories: [repository] }))

/** How many selected accounts have starred or watch each repository. */
const countRelations = async ({ tx, accounts }: Selection, relations: RelationCollection) => {
  const counts = new Map<number, number>()
  for (const id of accounts.keys())
    for await (const { repository } of listed(tx, relations, 'account', [id]))
      counts.set(repository, (counts.get(repository) ?? 0) + 1)
  return counts
}

/** The repositories with the numbers of stars, watchers and forks that they have among the selected accounts. */
async function* selectRepositories(selection: Selection): AsyncGenerator<Repository> {
  const [starred, watched] = [
    await countRelations(selection, stars),
    await countRelations(selection, watches),
  ]
  const records = ofAccounts(repositories, 'id')
  const forks = new Map<number, number>()
  for await (const { parent } of records(selection))
    if (parent !== null) forks.set(parent, (forks.get(parent) ?? 0) + 1)
  for await (const repository of records(selection)) {
    const { id, parent } = repository
    leaveOut(selection, 'stars', repository.stars - (starred.get(id) ?? 0))
    leaveOut(selection, 'watches', repository.watchers - (watched.get(id) ?? 0))
    yield {
      ...repository,
      parent: parent !== null && selection.repositories.has(parent) ? parent : null,
      stars: starred.get(id) ?? 0,
      watchers: watched.get(id) ?? 0,
      forks: forks.get(id) ?? 0,
    }
  }
}

async function* selectFiles({ tx, accounts, repositories }: Selection): AsyncGenerator<unknown> {
  for (const area of REPOSITORY_AREAS)
    for (const id of repositories) yield* listed(tx, files, 'owner', [area, id])
  for (const id of accounts.keys()) yield* listed(tx, files, 'owner', ['packages', id])
}

/** The records that an index has at each issue. */
const ofIssues = <R, O extends string>(collection: Indexed<R, O>, index: O) =>
  async function* (selection: Selection): AsyncGenerator<R> {
    for await (const { id } of ofRepositories(issues, 'state')(selection))
      yield* listed(selection.tx, collection, index, [id])
  }
const selectComments = ofIssues(comments, 'issue')

async function* selectAttachments(selection: Selection): AsyncGenerator<unknown> {
  const targets = {
    issue: ofRepositories(issues, 'state'),
    comment: selectComments,
    release: ofRepositories(releases, 'time'),
  }
  for (const [on, records] of Object.entries(targets))
    for await (const { id } of records(selection))
      yield* listed(selection.tx, attachments, 'target', [on, id])
}

async function* selectFollows(selection: Selection): AsyncGenerator<unknown> {
  yield* within('follows', ofAccounts(follows, 'following'), ({ followed }) => ({ accounts: [followed] }))(
    selection,
  )
  for await (const { follower } of ofAccounts(follows, 'followers')(selection))
    if (!selection.accounts.has(follower)) leaveOut(selection, 'follows', 1)
}

async function* selectPackageFiles(selection: Selection): AsyncGenerator<unknown> {
  for await (const { id } of ofAccounts(packageVersions, 'created')(selection))
    yield* listed(selection.tx, packageFiles, 'version', [id])
}

async function* selectEntries(selection: Selection): AsyncGenerator<unknown> {
  // Entries of a repository that was deleted are removed by a job.
  const ofOwners = within('', ofAccounts(ledgerEntries, 'main'), (entry) => ({
    repositories: [entry.repository],
  }))
  yield* ofOwners({ ...selection, leftOut: new Map() })
  yield* ofRepositories(ledgerEntries, 'overflow')(selection)
}

const groupsOf = async ({ tx, accounts }: Selection) => {
  const names = new Set<string>()
  for (const id of accounts.keys()) for (const name of await assignedTo(tx, id)) names.add(name)
  return groups.byNames(tx, names)
}

async function* selectRules(selection: Selection): AsyncGenerator<unknown> {
  const names = new Set((await groupsOf(selection)).flatMap((group) => group.rules))
  yield* await rules.byNames(selection.tx, names)
}

async function* selectHooks({ tx, accounts, repositories }: Selection): AsyncGenerator<Hook> {
  for (const id of repositories) yield* listed(tx, hooks, 'target', ['repository', id])
  for (const id of accounts.keys()) yield* listed(tx, hooks, 'target', ['account', id])
}

async function* selectDeliveries(selection: Selection): AsyncGenerator<unknown> {
  for await (const { id } of selectHooks(selection)) yield* listed(selection.tx, deliveries, 'hook', [id])
}

async function* selectHookQueues(selection: Selection): AsyncGenerator<unknown> {
  for await (const { id } of selectHooks(selection)) {
    const queue = await hookQueues.get(selection.tx, [id])
    if (queue !== undefined) yield queue
  }
}

/** The kind of selected records that a job moves with. A job that removes the data of a deleted record does not move. */
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

async function* selectJobs(selection: Selection): AsyncGenerator<unknown> {
  for await (const job of jobs.all(selection.tx)) {
    const selected = MOVES_WITH[job.kind]
    if (selected !== undefined && selection[selected].has(job.id)) yield job
  }
}

/** Selects the records of each collection, by its name. Records that belong to no owner or have no effect in another store are left out. */
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
  redirect: within('former names', below(redirects), ({ repository }) => ({
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
  star: relation('stars', stars),
  watch: relation('watches', watches),
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
  invitation: within('invitations', ofAccounts(invitations, 'organization'), ({ account }) => ({
    accounts: [account],
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
export const selectRecords = (selection: Selection, collection: CollectionName): AsyncIterable<unknown> => {
  const select = SELECT[collection]
  return select === 'left out' ? nothing() : select(selection)
}

async function* nothing(): AsyncGenerator<never> {}
