import { Accounts } from './accounts/accounts.ts'
import { Sessions, Tokens } from './accounts/credentials.ts'
import { type HostAuthenticate, Identities } from './accounts/identity.ts'
import { GpgKeys, SshKeys } from './accounts/keys.ts'
import { type LoginLimits, LoginThrottle, PasswordLogin } from './accounts/login.ts'
import { Organizations } from './accounts/organizations.ts'
import { updateFollowsJob, updateRelationsJob } from './accounts/visibility.ts'
import { Attachments } from './content/attachments.ts'
import { Comments } from './content/comments.ts'
import { createUsageLists, type UsageLists } from './content/details.ts'
import { Issues } from './content/issues.ts'
import { Lfs } from './content/lfs.ts'
import { Packages } from './content/packages.ts'
import { Releases } from './content/releases.ts'
import { AccountRemoval, registerRemovalJobs } from './content/removal.ts'
import type { FileStorage } from './files/index.ts'
import type { GitStorage } from './git/index.ts'
import type { Transport } from './git/transport.ts'
import { createKeyReader } from './keys/reader.ts'
import type { QuotaEngine } from './quota/index.ts'
import type { Jobs } from './records/jobs.ts'
import type { Store } from './records/store.ts'
import { GitData } from './repositories/git-data.ts'
import { Profiles } from './repositories/lists.ts'
import { createMigrated, type MigratedRecords } from './repositories/migrated.ts'
import { createNamedLedger, type NamedLedger, NamedPlans } from './repositories/named-quota.ts'
import { PushJournal } from './repositories/push-journal.ts'
import { Relations } from './repositories/relations.ts'
import { Repositories, type RepositoryParts } from './repositories/repositories.ts'
import { createSearch, type Search } from './repositories/search.ts'
import { removeFilesJob, StoredFiles } from './repositories/stored-files.ts'

/** The services of the domain, wired together: accounts, repositories and their contents. */
export interface Hosting {
  readonly accounts: Accounts
  readonly organizations: Organizations
  readonly accountRemoval: AccountRemoval
  readonly repositories: Repositories
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
  readonly files: StoredFiles
  readonly lfs: Lfs
  readonly packages: Packages
  /** @param source address of the server that was copied from */
  migrated(source: string): MigratedRecords
  /** Deletes the folders and files that a crash left without a record, and counts pushes that it left uncounted. */
  sweep(): Promise<void>
  /** Resolves when the folders and files of deleted records are deleted. */
  idle(): Promise<void>
  /** Ends the worker threads. */
  close(): Promise<void>
}

interface HostingOptions {
  store: Store
  quota: QuotaEngine
  jobs: Jobs
  /** Undefined when the host keeps repositories itself. */
  gitStorage: GitStorage | undefined
  /** Undefined when git over HTTP is turned off. */
  transport: Transport | undefined
  fileStorage: FileStorage
  /** Host name of the no-reply addresses in commits. */
  hostName: string
  /** Called with errors of the recovery, which the next start tries again. */
  onError: (error: unknown, fields: object) => void
  /** The host's own login, instead of tokens and passwords. */
  authenticate: HostAuthenticate | undefined
  /** Limits of failed logins; false: the host limits them itself. */
  login: LoginLimits | false
  /** Number of trusted reverse proxies in front of the server. */
  trustedProxies: number
  /** Seconds from the sign-in until a session expires. */
  sessionLifetime: number
}

export const createHosting = (options: HostingOptions): Hosting => {
  const { store, quota, jobs, gitStorage, transport, fileStorage, hostName, onError } = options
  const gitData = new GitData({ store, gitStorage, transport, hostName })
  const files = new StoredFiles({ store, fileStorage, onError })
  const pushJournal = new PushJournal({ store, quota, gitStorage, onError })
  const parts = { store, quota, jobs, gitData, files }
  registerJobs(parts)
  const services = {
    ...createAccountServices(options),
    accountRemoval: new AccountRemoval(parts),
    ...createContents(options, files),
    pushJournal,
    files,
    repositories: new Repositories(parts, gitStorage && pushJournal),
    relations: new Relations(store),
    profiles: new Profiles(store),
    search: createSearch(store),
    ledger: createNamedLedger(store, quota),
    plans: new NamedPlans(store, quota),
    usage: createUsageLists(store, quota),
    migrated: (source: string) => createMigrated(store, source),
    async sweep() {
      await gitData.sweep()
      await files.sweep()
      await pushJournal.resume()
    },
    async idle() {
      await files.idle()
      await gitData.idle()
    },
  }
  return services
}

const createAccountServices = (options: HostingOptions) => {
  const { store, jobs, authenticate, login, trustedProxies: proxies } = options
  const accounts = new Accounts(store, jobs)
  const throttle = login === false ? undefined : new LoginThrottle(login)
  const passwords = new PasswordLogin(store, throttle)
  const keyReader = createKeyReader()
  return {
    accounts,
    identities: new Identities({ store, accounts, passwords, throttle, proxies, authenticate }),
    organizations: new Organizations(store),
    sshKeys: new SshKeys(store, keyReader),
    gpgKeys: new GpgKeys(store, keyReader),
    tokens: new Tokens(store),
    sessions: new Sessions(store, options.sessionLifetime),
    close: () => keyReader.close(),
  }
}

const createContents = ({ store, quota, jobs }: HostingOptions, files: StoredFiles) => {
  const parts = { store, quota, jobs, files }
  return {
    issues: new Issues(parts),
    comments: new Comments(parts),
    releases: new Releases(parts),
    attachments: new Attachments(parts),
    lfs: new Lfs(parts),
    packages: new Packages(parts),
  }
}

/** Registers the handlers of all jobs but those of lib/quota. */
const registerJobs = (parts: RepositoryParts): void => {
  const { jobs } = parts
  jobs.handle('updateRelations', updateRelationsJob)
  jobs.handle('updateFollows', updateFollowsJob)
  jobs.handle('removeRepositoryFiles', removeFilesJob(parts.files))
  registerRemovalJobs(parts)
}
