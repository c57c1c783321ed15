import type { OpenAllot } from '../../../lib/allot.ts'
import type { Account, Repository } from '../../../lib/records/schema/index.ts'
import type { MigratedRecords } from '../../../lib/repositories/migrated.ts'
import type { Migration } from '../migration.ts'
import type { Source } from '../source.ts'
import type { TeamRights } from '../team-rights.ts'
import type { Comparison } from './comparison.ts'

/** What all parts of a comparison share. */
export interface Sides {
  readonly source: Source
  /** The API of the store, read as the source is. */
  readonly here: Source
  readonly hosting: OpenAllot['hosting']
  readonly names: Names
  readonly report: Comparison
  /** Where git data is stored; undefined when repositories are turned off. */
  readonly git: Migration['git']
  /** Teams of organizations at the source as they may be here, by the name of the organization in lower case. */
  readonly teams: Map<string, readonly TeamRights[]>
}

/** A repository of the source, and its copy. */
export interface RepositoryHere {
  readonly owner: Account
  readonly repository: Repository
  /** `owner/name` */
  readonly path: string
}

/** What is what here: an account or a repository of the source can have another name here. */
export class Names {
  readonly #hosting: OpenAllot['hosting']
  readonly #history: MigratedRecords
  readonly #accounts = new Map<string, Promise<Account | undefined>>()
  readonly #repositories = new Map<string, Promise<RepositoryHere | undefined>>()

  constructor(hosting: OpenAllot['hosting'], history: MigratedRecords) {
    this.#hosting = hosting
    this.#history = history
  }

  /** The account here of an account of the source. */
  account(name: string): Promise<Account | undefined> {
    const key = name.toLowerCase()
    const found = this.#accounts.get(key) ?? this.#readAccount(key)
    this.#accounts.set(key, found)
    return found
  }

  repository(owner: string, name: string): Promise<RepositoryHere | undefined> {
    const key = `${owner}/${name}`.toLowerCase()
    const found = this.#repositories.get(key) ?? this.#readRepository(owner, name)
    this.#repositories.set(key, found)
    return found
  }

  /** The name here of an author or creator; that of a ghost when there is no such user. */
  async person(login: string): Promise<string> {
    const account = login === '' ? undefined : await this.account(login)
    return account?.kind === 'user' ? account.name.toLowerCase() : 'ghost'
  }

  async #readAccount(name: string): Promise<Account | undefined> {
    const { accounts } = this.#hosting
    for (const id of (await this.#history.get('account', '', name))?.ids ?? []) {
      const account = await accounts.byId(id)
      if (account !== undefined) return account
    }
    return accounts.byName(name)
  }

  async #readRepository(ownerName: string, name: string): Promise<RepositoryHere | undefined> {
    const { accounts, repositories } = this.#hosting
    const known = await this.#history.get('repository', ownerName.toLowerCase(), name.toLowerCase())
    const copied = known?.ids[0] === undefined ? undefined : await repositories.byId(known.ids[0])
    const account = await this.account(ownerName)
    const repository = copied ?? (account && (await repositories.find(OPERATOR, account.name, name)))
    const owner = repository && (await accounts.byId(repository.owner))
    return owner && { owner, repository, path: `${owner.name}/${repository.name}` }
  }
}

export const OPERATOR = { id: 0, admin: true }
