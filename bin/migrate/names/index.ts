import { OPERATOR } from '../../../lib/accounts/access.ts'
import type { Hosting } from '../../../lib/hosting/create.ts'
import type { Account, Repository } from '../../../lib/records/schema/index.ts'
import type { MigrationLog } from '../../../lib/repositories/migration-log.ts'
import { KnownNames, type Named } from './known-names.ts'

/** Names to have here, by the name at the source in lower case: `owner` or `owner/name`. */
export type Renames = ReadonlyMap<string, string>

interface NamesOptions {
  readonly migrationLog: MigrationLog
  readonly hosting: Pick<Hosting, 'accounts' | 'repositories'>
  readonly renames: Renames
}

/**
 * Finds the accounts and repositories here that are those of the source. The migration log has a record for
 * each, whose name is the key: the first name at the source. Later names of the source lead to the same key
 * by the id there, so a copy is found after it was renamed on either side. Accounts and repositories without
 * a record are found by name.
 *
 * Invariant: a copy is never found for another account or repository, which has got its name since.
 */
export class Names {
  readonly #options: NamesOptions
  readonly #accounts = new KnownNames()
  readonly #repositories = new KnownNames()
  /** Keys of the accounts here that were found, by id. */
  readonly #keysHere = new Map<number, string>()

  private constructor(options: NamesOptions) {
    this.#options = options
  }

  /** @param accounts all users and organizations of the source */
  static async load(options: NamesOptions, accounts: readonly Named[]): Promise<Names> {
    const { migrationLog } = options
    const names = new Names(options)
    for (const record of await migrationLog.list('account')) {
      names.#accounts.know(record, record.name)
      if (record.copy?.id !== undefined) names.#keysHere.set(record.copy.id, record.name)
    }
    for (const record of await migrationLog.list('repository')) names.#repositories.know(record, record.name)
    for (const account of accounts) names.#accounts.learn(account, account.name.toLowerCase())
    return names
  }

  /**
   * Key of an account in the migration log.
   * @param login its name at the source
   */
  key(login: string): string {
    return this.#accounts.keyOf(login.toLowerCase())
  }

  /** Key of an account that was found here. */
  keyHere({ id, name }: Account): string {
    return this.#keysHere.get(id) ?? name.toLowerCase()
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
    const { migrationLog, hosting } = this.#options
    const id = (await migrationLog.get('account', '', key))?.copy?.id
    const copy = id === undefined ? undefined : await hosting.accounts.byId(id)
    if (copy !== undefined) return copy
    const found = await hosting.accounts.byName(this.wantedName(this.#accounts.nameOf(key)))
    if (found === undefined || this.#accounts.isOther(found.id, key)) return undefined
    this.#keysHere.set(found.id, key)
    return found
  }

  /** The user here who has the key. */
  async userWithKey(key: string): Promise<Account | undefined> {
    const account = await this.accountWithKey(key)
    return account?.kind === 'user' ? account : undefined
  }

  /** Key of the account here that has the id; empty when there is none. */
  async keyOfId(id: number): Promise<string> {
    const account = await this.#options.hosting.accounts.byId(id)
    return account === undefined ? '' : this.keyHere(account)
  }

  /** Remembers the copy of an account that was created now. */
  created({ id }: Account, key: string): void {
    this.#keysHere.set(id, key)
    this.#accounts.claim(id, key)
  }

  /** Whether an account or a repository here is the copy of another one than the key names. */
  isCopyOfOther(kind: 'account' | 'repository', id: number, key: string): boolean {
    return (kind === 'account' ? this.#accounts : this.#repositories).isOther(id, key)
  }

  /**
   * Key of a repository in the migration log: the key of the owner that it had first, a slash and its name.
   * @param owner
   * @param name names at the source
   * @param id there
   */
  repositoryKey(owner: string, name: string, id?: number): string {
    const path = `${this.key(owner)}/${name.toLowerCase()}`
    if (id !== undefined) this.#repositories.learn({ id, name }, path)
    return this.#repositories.keyOf(path)
  }

  /** The repository here that has the key. */
  async repositoryWithKey(key: string): Promise<Repository | undefined> {
    const { migrationLog, hosting } = this.#options
    const id = (await migrationLog.get('repository', '', key))?.copy?.id
    const copy = id === undefined ? undefined : await hosting.repositories.byId(id)
    if (copy !== undefined) return copy
    const [owner = '', own = ''] = this.#repositories.nameOf(key).split('/')
    const account = await this.accountWithKey(owner)
    if (account === undefined) return undefined
    const name = this.wantedName(`${this.#accounts.nameOf(owner)}/${own}`)
    const found = await hosting.repositories.find(OPERATOR, account.name, name)
    return found && this.#repositories.isOther(found.id, key) ? undefined : found
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
