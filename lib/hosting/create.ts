import { Accounts, accountOwners } from '../accounts/accounts.ts'
import { GpgKeys, SshKeys } from '../accounts/keys.ts'
import { Memberships } from '../accounts/memberships.ts'
import { Organizations } from '../accounts/organizations.ts'
import { SetUp } from '../accounts/set-up.ts'
import { Teams } from '../accounts/teams.ts'
import { registerForkJobs } from '../accounts/visibility.ts'
import { Attachments } from '../content/attachments.ts'
import { Comments } from '../content/comments.ts'
import { Forks } from '../content/forks.ts'
import { Issues } from '../content/issues.ts'
import { Lfs, LfsCopies } from '../content/lfs.ts'
import { MigratedContent } from '../content/migrated-content.ts'
import { Packages } from '../content/packages/index.ts'
import { MigratedPackages } from '../content/packages/migrated-packages.ts'
import { Releases } from '../content/releases.ts'
import { AccountRemoval } from '../content/removal.ts'
import { registerRemovalJobs } from '../content/removers.ts'
import { CommitStatuses } from '../content/statuses.ts'
import { IssueSubscriptions } from '../content/subscriptions.ts'
import { instanceHistory } from '../content/usage/instance-history.ts'
import { createUsageLists } from '../content/usage/ledger-lists.ts'
import { ownerTable } from '../content/usage/owners-snapshot.ts'
import { StorageItems } from '../content/usage/storage-items.ts'
import type { DiskStorage, Host } from '../data-folder.ts'
import type { OnDeletionError } from '../disk.ts'
import { logError } from '../http/index.ts'
import { createKeyReader } from '../keys/reader.ts'
import type { Options } from '../options/index.ts'
import { BeforeStore } from '../quota/before-store.ts'
import type { QuotaEngine } from '../quota/index.ts'
import { PlansByName } from '../quota/plans-by-name.ts'
import type { Jobs } from '../records/jobs.ts'
import type { Repository } from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'
import { Collaborators } from '../repositories/collaborators.ts'
import { RepositoryContents } from '../repositories/contents/open-repository.ts'
import { DiskJournal, leftoverAge } from '../repositories/disk-journal.ts'
import { GitData } from '../repositories/git-data.ts'
import { createLedgerByName } from '../repositories/ledger/ledger-by-name.ts'
import { Profiles } from '../repositories/lists.ts'
import { RepositoryMaintenance } from '../repositories/maintenance.ts'
import { MigrationLog } from '../repositories/migration-log.ts'
import { PushJournal } from '../repositories/push-journal.ts'
import { Pushes } from '../repositories/pushes.ts'
import { Relations } from '../repositories/relations.ts'
import { Repositories, type RepositoryServices } from '../repositories/repositories.ts'
import { Search } from '../repositories/search/search.ts'
import { StoredFiles } from '../repositories/stored-files.ts'
import { TeamRepositories } from '../repositories/team-repositories.ts'
import { Transfers } from '../repositories/transfers.ts'
import { createReadBudget, type WithReadBudget } from '../repositories/visible.ts'
import type { AllowedAddresses } from '../webhooks/addresses.ts'
import { Hooks } from '../webhooks/hooks.ts'
import type { Outbox } from '../webhooks/outbox.ts'
import { credentialsOf } from './credentials.ts'

/** The services of accounts, repositories and their contents. */
export type Hosting = Readonly<ReturnType<typeof createHosting>>

/** What the services are made of. */
interface Parts {
  readonly options: Pick<
    Options,
    'baseUrl' | 'login' | 'trustedProxies' | 'newRepositories' | 'maxTextPerDay' | 'pages' | 'quota'
  >
  readonly host: Host
  readonly store: Store
  readonly quota: QuotaEngine
  readonly jobs: Jobs
  readonly outbox: Outbox
  /** Which addresses the receivers of webhooks may have. */
  readonly addresses: AllowedAddresses
  readonly disk: DiskStorage & { readonly onDeletionError: OnDeletionError }
}

type Services = RepositoryServices & WithReadBudget

/** Wires the services together, and registers the handlers of all jobs but those of lib/quota. */
export const createHosting = (parts: Parts) => {
  const { store, quota, jobs, outbox, addresses, options, host } = parts
  const { gitStorage, fileStorage, transport, gitReader, onDeletionError } = parts.disk
  const { baseUrl = 'http://localhost', newRepositories, maxTextPerDay } = options
  const hostName = new URL(baseUrl).hostname
  const disk = new DiskJournal(store, onDeletionError)
  const gitData = new GitData({ store, disk, gitStorage, transport, gitReader, hostName })
  const beforeStore = beforeStoreOf(parts)
  const files = new StoredFiles({ store, disk, fileStorage, beforeStore })
  const pushJournal = pushJournalOf(parts, disk)
  const keyReader = createKeyReader()
  const limits = { newRepositories, maxTextPerDay, readBudget: createReadBudget() }
  const services = { store, quota, beforeStore, jobs, disk, gitData, files, outbox, ...limits }
  const removal = new AccountRemoval(services)
  const accounts = new Accounts(store, services, removal)
  const git = gitServicesOf(parts, pushJournal, beforeStore)
  const credentials = credentialsOf(parts, accounts)
  const repositories = new Repositories(services, gitStorage && pushJournal)
  registerJobs(services)
  const content = contentOf(services, host)
  return {
    accounts,
    ...credentials,
    organizations: new Organizations(store, removal),
    ...keysOf(store, keyReader),
    setUp: new SetUp(store, host.tokens),
    pushJournal,
    beforeStore,
    git,
    contents: contentsOf(parts, git?.maintenance),
    files,
    repositories,
    /** Refuses a default branch that does not exist. */
    checkDefaultBranch: (repository: Repository, name: string) =>
      gitData.checkDefaultBranch(repository, name),
    ...sharingOf(store, repositories),
    ...listsOf(services),
    ...content,
    ...lfsAndForksOf(services, host, git?.maintenance),
    hooks: new Hooks({ store, jobs, outbox, addresses }),
    ...quotaByName({ store, quota, owners: accountOwners }),
    ...forPages(parts),
    ...migrationOf(services),
    disk,
    recover: recoveryOf(parts, disk),
    /** Ends all worker threads, counts downloads, and saves when tokens and sessions were last used. */
    async close() {
      await content.attachments.close()
      await credentials.tokenUses.close()
      await credentials.sessionUses.close()
      await keyReader.close()
    },
  }
}

const quotaByName = (parts: Pick<Parts, 'store' | 'quota'> & { owners: typeof accountOwners }) => ({
  /**
   * The ledger of the HTTP API. That of hosts (lib/allot.ts) requires `index` or `run`, which the API lets
   * clients leave out.
   */
  ledger: createLedgerByName({ ...parts, hasRepositories: true }),
  plans: new PlansByName(parts),
  usage: createUsageLists(parts.store, parts.quota),
})

const listsOf = ({ store, readBudget }: Services) => ({
  relations: new Relations(store, readBudget),
  profiles: new Profiles(store, readBudget),
  search: new Search(store, readBudget),
})

const keysOf = (store: Store, keyReader: ReturnType<typeof createKeyReader>) => ({
  sshKeys: new SshKeys(store, keyReader),
  gpgKeys: new GpgKeys(store, keyReader),
})

const beforeStoreOf = ({ store, quota, host: { onBeforeStore, log } }: Parts) => {
  const onError = logError(log, 'onBeforeStore failed, so nothing was stored')
  return new BeforeStore({ store, quota, owners: accountOwners, onBeforeStore, onError })
}

const pushJournalOf = ({ host, ...parts }: Parts, disk: DiskJournal) =>
  new PushJournal({
    ...parts,
    ...parts.disk,
    disk,
    onRecountError: logError(
      host.log,
      'a push that was interrupted could not be counted; the next push or start counts it',
    ),
  })

/** Deletes what a crash left on the disk without a record, and counts pushes that it left uncounted. */
const recoveryOf =
  ({ store, disk: { fileStorage } }: Parts, disk: DiskJournal) =>
  async (): Promise<void> => {
    await fileStorage.recover(leftoverAge(store))
    await disk.settleAbandoned()
  }

const migrationOf = (services: RepositoryServices) => ({
  /** @param source address of the server that was copied from */
  migrationLog: (source: string) => new MigrationLog(services.store, source),
  migratedContent: (log: MigrationLog) => new MigratedContent(services, log),
  migratedPackages: (log: MigrationLog) => new MigratedPackages(services, log),
  quotaRules: services.quota.rules,
  quotaGroups: services.quota.groups,
})

const registerJobs = (services: RepositoryServices): void => {
  registerForkJobs(services)
  registerRemovalJobs(services)
}

/** Undefined when the contents of repositories are not served. */
const contentsOf = (
  { store, disk: { gitReader } }: Parts,
  maintenance: RepositoryMaintenance | undefined,
): RepositoryContents | undefined =>
  gitReader &&
  new RepositoryContents(store, gitReader, {
    cacheSize: gitReader.responseCacheSize,
    onSearched: (repository) => maintenance?.begin(repository),
  })

/** Undefined when no git data is served. */
const gitServicesOf = (
  { host, store, disk: { transport } }: Parts,
  pushJournal: PushJournal,
  beforeStore: BeforeStore,
) => {
  if (transport === undefined) return undefined
  const shared = { transport, pushJournal }
  const maintenance = new RepositoryMaintenance({
    ...shared,
    store,
    onError: logError(host.log, 'a repository could not be maintained; its next push or search tries again'),
  })
  const onError = logError(host.log, 'the size of a repository could not be updated')
  const pushes = new Pushes({
    ...shared,
    beforeStore,
    maintenance,
    onError,
  })
  return { transport, pushes, maintenance }
}

/** Services that only the pages use. */
const forPages = ({ store, quota, options }: Parts) => ({
  storageItems: new StorageItems(store, quota),
  ownerTable: ownerTable(store, quota, options.quota.warnAt),
  instanceHistory: instanceHistory(store),
})

/** Forks are copies with their LFS objects. */
const lfsAndForksOf = (services: Services, { log }: Host, maintenance: RepositoryMaintenance | undefined) => {
  const lfs = new Lfs(services)
  const onLostObject = logError(
    log,
    'a fork lacks an LFS object, whose file is lost or damaged: run allot verify',
  )
  const lfsCopies = new LfsCopies(services, lfs, onLostObject)
  services.jobs.handle('copyLfsObjects', lfsCopies.job)
  return { lfs, forks: new Forks(services, lfsCopies, maintenance) }
}

/** Services of the contents of repositories besides git data. */
const contentOf = (services: Services, { log }: Host) => ({
  issues: new Issues(services),
  comments: new Comments(services),
  issueSubscriptions: new IssueSubscriptions(services.store, services.readBudget),
  statuses: new CommitStatuses(services),
  releases: new Releases(services),
  attachments: new Attachments(services, logError(log, 'the download of an attachment could not be counted')),
  packages: new Packages(services),
})

/** Services of memberships, teams, collaborators and transfers. */
const sharingOf = (store: Store, repositories: Repositories) => ({
  memberships: new Memberships(store),
  teams: new Teams(store),
  teamRepositories: new TeamRepositories(store),
  collaborators: new Collaborators(store),
  transfers: new Transfers(store, repositories),
})
