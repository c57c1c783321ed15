import type { OpenAllot } from '../../../lib/allot.ts'
import type { Account, Repository } from '../../../lib/records/schema/index.ts'
import { type Migration, OPERATOR } from '../migration.ts'
import type { Names } from '../names/index.ts'
import type { Source } from '../source.ts'
import type { TeamRights } from '../teams/rights.ts'
import type { Comparison } from './comparison.ts'

/** Shared by all parts of a comparison. */
export interface Sides {
  readonly source: Source
  /** The API of the store, read as the source is. */
  readonly here: Source
  readonly hosting: OpenAllot['hosting']
  readonly names: NamesHere
  readonly report: Comparison
  /** Where git data is stored; undefined when repositories are turned off. */
  readonly git: Migration['git']
  /**
   * Teams of organizations at the source as they may be here, by the name of the organization in lower case.
   */
  readonly teams: Map<string, readonly TeamRights[]>
}

/** A repository of the source, and its copy. */
export interface RepositoryHere {
  readonly owner: Account
  readonly repository: Repository
  /** `owner/name` */
  readonly path: string
}

/**
 * Finds the copies of accounts and repositories of the source, also after they were renamed on either side.
 */
export class NamesHere {
  readonly #hosting: OpenAllot['hosting']
  readonly #names: Names

  constructor(hosting: OpenAllot['hosting'], names: Names) {
    this.#hosting = hosting
    this.#names = names
  }

  /** @param name at the source */
  account(name: string): Promise<Account | undefined> {
    return this.#names.accountOf(name)
  }

  /**
   * @param owner
   * @param name names at the source
   * @param id there
   */
  async repository(owner: string, name: string, id?: number): Promise<RepositoryHere | undefined> {
    const repository = await this.#names.repositoryOf(owner, name, id)
    const account = repository && (await this.#hosting.accounts.byId(repository.owner))
    return account && { owner: account, repository, path: `${account.name}/${repository.name}` }
  }

  /** The names here of teams of the source, in their order. */
  async teams(organization: Account, teams: readonly TeamRights[]): Promise<string[]> {
    const keyed = await this.#names.keysOfTeams(this.#names.keyHere(organization), teams)
    return Promise.all(
      keyed.map(async ({ team, record }) => {
        const id = record?.copy?.id
        const copy = id === undefined ? undefined : await this.#hosting.teams.find(OPERATOR, id)
        return copy?.team?.name ?? team.name
      }),
    )
  }

  /** The name here of the user who wrote or created something; `ghost` when the user does not exist here. */
  async person(login: string): Promise<string> {
    const account = login === '' ? undefined : await this.account(login)
    return account?.kind === 'user' ? account.name.toLowerCase() : 'ghost'
  }
}
