import { type Accounts, createAccounts, type Removal } from './accounts/accounts.ts'
import { createHostIdentities, type HostAuthenticate } from './accounts/host-identity.ts'
import { createIdentities, type Identities } from './accounts/identity.ts'
import { createGpgKeys, createSshKeys, type GpgKeys, type SshKeys } from './accounts/keys.ts'
import { createLoginThrottle, type LoginLimits, noLoginThrottle } from './accounts/login.ts'
import { createOrganizations, type Organizations } from './accounts/organizations.ts'
import { createSessions, type Sessions } from './accounts/sessions.ts'
import { withSudo } from './accounts/sudo.ts'
import { createTokens, type Tokens } from './accounts/tokens.ts'
import { updateFollowsJob, updateRelationsJob } from './accounts/visibility.ts'
import { createRemoval, removeOwnerJob } from './content/account-removal.ts'
import { type Attachments, createAttachments } from './content/attachments.ts'
import { type Comments, createComments } from './content/comments.ts'
import { registerContentRemoval } from './content/content-removal.ts'
import { createIssues, type Issues } from './content/issues.ts'
import { createLfs, type Lfs } from './content/lfs.ts'
import { removePackageJob } from './content/package-files.ts'
import { createPackages, type Packages } from './content/packages.ts'
import { createReleases, type Releases } from './content/releases.ts'
import { createUsageLists, type UsageLists } from './content/usage-lists.ts'
import type { FileStore } from './files/index.ts'
import { createKeyReader } from './keys/reader.ts'
import type { QuotaEngine } from './quota/index.ts'
import type { Jobs } from './records/jobs.ts'
import type { Account } from './records/schema/index.ts'
import type { Store } from './records/store.ts'
import { createHostedFiles, type HostedFiles, removeFilesJob } from './repositories/files.ts'
import {
  createProfiles,
  createRepositoryLists,
  type Profiles,
  type RepositoryLists,
} from './repositories/lists.ts'
import { createMigrated, type MigratedRecords } from './repositories/migrated.ts'
import { createNamedLedger, type NamedLedger } from './repositories/named-ledger.ts'
import { createNamedPlans, type NamedPlans } from './repositories/named-plans.ts'
import { createPushJournal, type PushJournal, type RepositoryDisk } from './repositories/push-journal.ts'
import { createRedirects, type Redirects } from './repositories/redirects.ts'
import { createRelations, type Relations } from './repositories/relations.ts'
import { createRepositories, type Repositories } from './repositories/repositories.ts'
import { createSearch, type Search } from './repositories/search.ts'
import { createRepositoryStorage, type RepositoryFiles } from './repositories/storage.ts'

/** The domain: accounts and what they have to do with repositories, keys and each other. */
export interface Hosting {
  readonly accounts: Accounts
  readonly organizations: Organizations
  readonly repositories: Repositories
  readonly listings: RepositoryLists
  /** Former names of repositories. */
  readonly redirects: Redirects
  readonly relations: Relations
  readonly profiles: Profiles
  readonly search: Search
  readonly issues: Issues
  readonly comments: Comments
  readonly releases: Releases
  readonly attachments: Attachments
  readonly sshKeys: SshKeys
  readonly gpgKeys: GpgKeys
  readonly tokens: Tokens
  readonly sessions: Sessions
  readonly ledger: NamedLedger
  readonly plans: NamedPlans
  readonly usage: UsageLists
  readonly identities: Identities
  readonly pushJournal: PushJournal
  readonly files: HostedFiles
  readonly lfs: Lfs
  readonly packages: Packages
  /** @param source address of the server that was copied from */
  migrated(source: string): MigratedRecords
  /** Deletes a user or an organization: see {@link Removal.remove}. */
  readonly removeAccount: Removal['remove']
  /** Deletes the folders and files that a kill has left without a record, and counts what it left uncounted; only at the start. */
  sweep(): Promise<void>
  /** Resolves when the folders of the repositories that are gone are, too, and the files of what is gone. */
  idle(): Promise<void>
  /** Ends the worker threads. */
  close(): Promise<void>
}

export interface HostingOptions {
  store: Store
  quota: QuotaEngine
  jobs: Jobs
  /** What makes and removes the git data of repositories. */
  folders: RepositoryFiles | undefined
  disk: RepositoryDisk | undefined
  files: FileStore
  /** Told of what could not be mended, which is tried again at the next start. */
  onError: (error: unknown, fields: object) => void
  /** The host's own login, in the place of tokens and passwords. */
  authenticate: HostAuthenticate | undefined
  /** How many failed logins are taken; false: the host counts elsewhere. */
  login: LoginLimits | false
  /** How many reverse proxies say where a request comes from. */
  trustedProxies: number
  /** Seconds. */
  sessionLifetime: number
}

export const createHosting = (options: HostingOptions): Hosting => {
  const { store, quota, jobs, disk, onError, authenticate } = options
  const told = {
    changed: (account: Account) => identities.onAccountChanged(account),
    revoked: (hash: string) => identities.onTokenRevoked(hash),
  }
  const accounts = createAccounts(store, jobs, told.changed)
  const identities = withSudo(
    store,
    authenticate === undefined
      ? createIdentities(store, attemptsIn(options), options.trustedProxies)
      : createHostIdentities(store, authenticate, (name, admin) => accounts.createUser({ name, admin })),
  )
  const folders = createRepositoryStorage(store, options.folders)
  const files = createHostedFiles({ store, disk: options.files, onError })
  const pushJournal = createPushJournal({ store, quota, disk, onError })
  const parts = { quota, jobs, folders, files }
  const attached = { store, quota, files }
  const removal = createRemoval(store, parts, told)
  const keyReader = createKeyReader()
  jobs.handle('owner', removeOwnerJob(parts))
  jobs.handle('relations', updateRelationsJob)
  jobs.handle('follows', updateFollowsJob)
  registerContentRemoval(jobs, attached)
  jobs.handle('files', removeFilesJob(files))
  jobs.handle('package', removePackageJob(files))

  return {
    accounts,
    identities,
    pushJournal,
    files,
    lfs: createLfs(store, quota, files),
    packages: createPackages(store, parts),
    migrated: (source) => createMigrated(store, source),
    organizations: createOrganizations(store, removal),
    repositories: createRepositories(store, options.folders, { ...parts, pushJournal }),
    listings: createRepositoryLists(store),
    redirects: createRedirects(store),
    relations: createRelations(store),
    profiles: createProfiles(store),
    search: createSearch(store),
    issues: createIssues(attached, jobs),
    comments: createComments(attached),
    releases: createReleases(attached),
    attachments: createAttachments(attached, jobs.bounds.maxPerTransaction),
    sshKeys: createSshKeys(store, keyReader),
    gpgKeys: createGpgKeys(store, keyReader),
    tokens: createTokens(store, told.revoked),
    sessions: createSessions(store, options.sessionLifetime),
    ledger: createNamedLedger(store, quota),
    plans: createNamedPlans(store, quota),
    usage: createUsageLists(store, quota),
    removeAccount: removal.remove,
    async sweep() {
      await folders.sweep()
      await files.sweep()
      await pushJournal.resume()
    },
    async idle() {
      await files.idle()
      await folders.idle()
    },
    close: () => keyReader.close(),
  }
}

const attemptsIn = ({ login }: HostingOptions) =>
  login === false ? noLoginThrottle : createLoginThrottle(login)
