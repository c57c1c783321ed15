import type { QuotaEngine } from '../quota/index.ts'
import type { Account } from '../records/schema.ts'
import type { Store } from '../records/store.ts'
import { type Accounts, createAccounts } from './accounts.ts'
import { type AttemptLimits, createAttempts, uncounted } from './attempts.ts'
import { createFolders } from './folders.ts'
import { createHostIdentities, type HostAuthenticate } from './host-identity.ts'
import { createIdentities, type Identities } from './identity.ts'
import { createGpgKeys, createSshKeys, type GpgKeys, type SshKeys } from './keys.ts'
import { createNamedLedger, type NamedLedger } from './ledger.ts'
import { createRepositoryListings, type RepositoryListings } from './listings.ts'
import { createOrganizations, type Organizations } from './organizations.ts'
import { createNamedPlans, type NamedPlans } from './plans.ts'
import { createRelations, type Relations } from './relations.ts'
import { createRemoval } from './removal.ts'
import { createRepositories, type Repositories, type RepositoryFiles } from './repositories.ts'
import { createSearch, type Search } from './search.ts'
import { createTokens, type Tokens } from './tokens.ts'
import { createUsageListings, type UsageListings } from './usage.ts'

/** The domain: accounts and what they have to do with repositories, keys and each other. */
export interface Hosting {
  readonly accounts: Accounts
  readonly organizations: Organizations
  readonly repositories: Repositories
  readonly listings: RepositoryListings
  readonly relations: Relations
  readonly search: Search
  readonly sshKeys: SshKeys
  readonly gpgKeys: GpgKeys
  readonly tokens: Tokens
  readonly ledger: NamedLedger
  readonly plans: NamedPlans
  readonly usage: UsageListings
  readonly identities: Identities
  /**
   * Deletes an account with all that is only its own; answers whether there was one.
   * @throws AllotError invalid when it still owns repositories and `purge` is not asked for.
   */
  removeAccount(id: number, options?: { purge?: boolean }): Promise<boolean>
  /** Deletes the folders that a kill has left without a repository; only before anything is being made. */
  sweep(): Promise<void>
}

export interface HostingOptions {
  store: Store
  quota: QuotaEngine
  files: RepositoryFiles | undefined
  /** The host's own login, in the place of tokens and passwords. */
  authenticate: HostAuthenticate | undefined
  /** How many failed logins are taken; false: the host counts elsewhere. */
  login: AttemptLimits | false
  /** How many reverse proxies say where a request comes from. */
  trustedProxies: number
}

export const createHosting = (options: HostingOptions): Hosting => {
  const { store, quota, files, authenticate } = options
  const told = {
    changed: (account: Account) => identities.changed(account),
    revoked: (hash: string) => identities.revoked(hash),
  }
  const accounts = createAccounts(store, told.changed)
  const identities =
    authenticate === undefined
      ? createIdentities(store, attemptsIn(options), options.trustedProxies)
      : createHostIdentities(store, authenticate, (name, admin) => accounts.createUser({ name, admin }))
  const removal = createRemoval(store, quota, told)
  const folders = createFolders(store, files)

  return {
    accounts,
    identities,
    organizations: createOrganizations(store),
    repositories: createRepositories({ store, quota, files, folders }),
    listings: createRepositoryListings(store),
    relations: createRelations(store),
    search: createSearch(store),
    sshKeys: createSshKeys(store),
    gpgKeys: createGpgKeys(store),
    tokens: createTokens(store, told.revoked),
    ledger: createNamedLedger(store, quota),
    plans: createNamedPlans(store, quota),
    usage: createUsageListings(store, quota),
    async removeAccount(id, options) {
      const removed = await removal.remove(id, options)
      for (const repository of removed ?? []) await folders.discard(repository)
      return removed !== undefined
    },
    sweep: () => folders.sweep(),
  }
}

const attemptsIn = ({ login }: HostingOptions) => (login === false ? uncounted : createAttempts(login))
