import { OPERATOR } from '../../../lib/accounts/access.ts'
import type { Hosting } from '../../../lib/hosting/create.ts'
import type { Account, Repository } from '../../../lib/records/schema/index.ts'
import type { MigrationLog } from '../../../lib/repositories/migration-log.ts'
import type { SourceRepository } from '../shapes.ts'

/** Names to have here, by the name at the source in lower case: `owner` or `owner/name`. */
export type Renames = ReadonlyMap<string, string>

/** An account of the source. */
export interface Named {
  readonly id: number
  readonly name: string
}

interface NamesOptions {
  readonly migrationLog: MigrationLog
  readonly hosting: Pick<Hosting, 'accounts' | 'repositories'>
  readonly renames: Renames
}

/** What identifies a repository of the source. */
export type SourcePath = Pick<SourceRepository, 'id' | 'name'> & {
  readonly owner: Pick<SourceRepository['owner'], 'login'>
}

/**
 * Finds the accounts and repositories here that are those of the source. The migration log has a record for
 * each, whose name is the key: the id at the source. So a copy is found after it was renamed on either side.
 * Accounts and repositories without a record are found by name.
 *
 * Invariant: a copy is never found for another account or repository, which has got its name since.
 */
export class Names {
  readonly #options: NamesOptions
  /** Keys of the accounts by their names at the source, in lower case. */
  readonly #keys = new Map<string, string>()
  /** Names at the source by the keys; of a repository `owner/name`. */
  readonly #names = { account: new Map<string, string>(), repository: new Map<string, string>() }
  /** Keys by the ids here. */
  readonly #keysHere = { account: new Map<number, string>(), repository: new Map<number, string>() }

  private constructor(options: NamesOptions) {
    this.#options = options
  }

  /** @param accounts all users and organizations of the source */
  static async load(options: NamesOptions, accounts: readonly Named[]): Promise<Names> {
    const names = new Names(options)
    for (const kind of ['account', 'repository'] as const)
      for (const { name: key, copy } of await options.migrationLog.list(kind))
        if (copy?.id !== undefined) names.#keysHere[kind].set(copy.id, key)
    for (const { id, name } of accounts) {
      names.#keys.set(name.toLowerCase(), String(id))
      names.#names.account.set(String(id), name)
    }
    return names
  }

  /**
   * Key of an account in the migration log; empty when the source has none of the name.
   * @param login its name at the source
   */
  key(login: string): string {
    return this.#keys.get(login.toLowerCase()) ?? ''
  }

  /** Key of an account that was found here; empty for another one, and when there is none of the id. */
  keyHere({ id }: Pick<Account, 'id'>): string {
    return this.#keysHere.account.get(id) ?? ''
  }

  /**
   * Name that an account or a repository gets here.
   * @param path `owner` or `owner/name` at the source
   */
  wantedName(path: string): string {
    return this.renamedTo(path) ?? path.split('/').at(-1)!
  }

  /**
   * The name that `--rename` gives the account or the repository.
   * @param name `owner` or `owner/name` at the source
   */
  renamedTo(name: string): string | undefined {
    return this.#options.renames.get(name.toLowerCase())
  }

  /**
   * The account here.
   * @param login its name at the source
   */
  accountOf(login: string): Promise<Account | undefined> {
    return this.accountWithKey(this.key(login))
  }

  /** The account here that has the key. */
  async accountWithKey(key: string): Promise<Account | undefined> {
    const { accounts } = this.#options.hosting
    const id = await this.#copyOf('account', key)
    const copy = id === undefined ? undefined : await accounts.byId(id)
    const login = this.#names.account.get(key)
    if (copy !== undefined || login === undefined) return copy
    const found = await accounts.byName(this.wantedName(login))
    if (found === undefined || this.isCopyOfOther('account', found.id, key)) return undefined
    this.created(found, key)
    return found
  }

  async #copyOf(kind: 'account' | 'repository', key: string): Promise<number | undefined> {
    return (await this.#options.migrationLog.get(kind, '', key))?.copy?.id
  }

  /** The user here who has the key. */
  async userWithKey(key: string): Promise<Account | undefined> {
    const account = await this.accountWithKey(key)
    return account?.kind === 'user' ? account : undefined
  }

  /** Remembers an account that is here. */
  created({ id }: Account, key: string): void {
    this.#keysHere.account.set(id, key)
  }

  /** Whether an account or a repository here is that of another key. */
  isCopyOfOther(kind: 'account' | 'repository', id: number, key: string): boolean {
    return (this.#keysHere[kind].get(id) ?? key) !== key
  }

  /** Key of a repository in the migration log. */
  repositoryKey({ id, name, owner }: SourcePath): string {
    this.#names.repository.set(String(id), `${owner.login}/${name}`)
    return String(id)
  }

  /** The repository here that has the key. */
  async repositoryWithKey(key: string): Promise<Repository | undefined> {
    const { repositories } = this.#options.hosting
    const id = await this.#copyOf('repository', key)
    const copy = id === undefined ? undefined : await repositories.byId(id)
    const path = this.#names.repository.get(key)
    if (copy !== undefined || path === undefined) return copy
    const owner = await this.accountOf(path.split('/')[0]!)
    const found = owner && (await repositories.find(OPERATOR, owner.name, this.wantedName(path)))
    return found && this.isCopyOfOther('repository', found.id, key) ? undefined : found
  }

  /** Where a repository is here. */
  async addressOf({ owner, name }: Repository): Promise<{ owner: string; name: string } | undefined> {
    const account = await this.#options.hosting.accounts.byId(owner)
    return account && { owner: account.name, name }
  }

  /** `owner/name` here. */
  async pathOf(repository: Repository): Promise<string> {
    const { owner = '', name = '' } = (await this.addressOf(repository)) ?? {}
    return `${owner}/${name}`
  }
}
