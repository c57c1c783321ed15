import { paced } from '../records/pacing.ts'
import type { Page, Slice } from '../records/pages.ts'
import { type RepositoryUsage, repositories, repositoryUsages } from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { bindingLimits, distinctSubjects, type QuotaGroup, type SubjectLimit, stands } from './evaluate.ts'
import { type OwnerIds, scanOwners } from './owner-scan.ts'
import { groupResolver, type QuotaDefaults, readPolicy } from './status.ts'
import { type Subject, type Usage, usedBy } from './subjects.ts'
import { usageOfRepository } from './usage.ts'

/** An owner that is over a limit, or near it, with the subject and the rule that bind. */
export interface OwnerOverQuota extends SubjectLimit {
  owner: number
  /** Whether the owner is over the limit; false: near it. */
  over: boolean
  /** Bytes that count toward the subject. */
  used: number
}

interface OverQuotaQuery {
  /** Undefined: any subject. */
  subject?: Subject | undefined
  /** Lists owners too that have at most this share of their limit left: 0 to 1. */
  within?: number | undefined
}

/** A repository with all bytes that it and everything in it use. */
export interface RepositoryTotal {
  usage: RepositoryUsage
  used: number
}

/** Reports about all owners or repositories. Each reads every one of them, from one snapshot. */
export class Reports {
  readonly #store: Store
  readonly #defaults: QuotaDefaults
  readonly #owners: OwnerIds

  constructor(store: Store, defaults: QuotaDefaults, owners: OwnerIds) {
    this.#store = store
    this.#defaults = defaults
    this.#owners = owners
  }

  /**
   * The usage of owners, and the groups that apply to them.
   * @param owners in ascending order of their ids
   */
  async *quotasOf<T>(
    tx: ReadTransaction,
    owners: AsyncIterable<T>,
    idOf: (owner: T) => number,
  ): AsyncGenerator<{ owner: T; usage: Usage; groups: readonly QuotaGroup[] }> {
    const policy = await readPolicy(tx, this.#defaults)
    const groupsFor = groupResolver(policy)
    for await (const { owner, usage, assigned } of scanOwners(tx, policy, owners, idOf))
      yield { owner, usage, groups: groupsFor(assigned) }
  }

  /** Owners that are over quota, and those near it when the query asks for them: largest excess first. */
  overQuota(
    { subject, within = 0 }: OverQuotaQuery,
    { offset, limit }: Slice,
  ): Promise<Page<OwnerOverQuota>> {
    return this.#store.read(async (tx) => {
      const largest = new First(offset + limit, byExcess)
      const among = subject && [subject]
      for await (const { owner, usage, groups } of this.quotasOf(tx, this.#owners(tx), (id) => id)) {
        const found = overOrNear(groups, usage, within, among ?? distinctSubjects(groups))
        if (found !== undefined) largest.add({ owner, ...found })
      }
      return { items: largest.items().slice(offset), total: largest.total }
    })
  }

  /**
   * Repositories with the bytes of git data, LFS objects, attachments, artifacts and packages, largest first.
   * @param owner undefined: those of all owners. Each page reads the usage of all of them.
   */
  async largestRepositories(
    tx: ReadTransaction,
    owner: number | undefined,
    { offset, limit }: Slice,
  ): Promise<Page<RepositoryTotal>> {
    const largest = new First(offset + limit, bySize)
    const usages = owner === undefined ? repositoryUsages.all(tx) : repositoriesOf(tx, owner)
    for await (const usage of paced(usages))
      largest.add({ usage, used: usedBy('size:all', usageOfRepository(usage)) })
    return { items: largest.items().slice(offset), total: largest.total }
  }
}

/** The limit that an owner is over, or has at most a share of left; undefined when there is none. */
const overOrNear = (
  groups: readonly QuotaGroup[],
  usage: Usage,
  within: number,
  among: readonly Subject[],
): Omit<OwnerOverQuota, 'owner'> | undefined => {
  const limits = bindingLimits(groups, usage, among)
  const binding = limits.find(({ limit, left }) => left <= Math.max(0, limit * within))
  return binding && { over: !stands(binding), used: usedBy(binding.subject, usage), ...binding }
}

type Order<T> = (first: T, second: T) => number

const byExcess: Order<OwnerOverQuota> = (first, second) =>
  first.left - second.left || first.owner - second.owner

const bySize: Order<RepositoryTotal> = (first, second) =>
  second.used - first.used || first.usage.id - second.usage.id

/** Keeps the first `limit` items in an order and counts all of them, in memory that `limit` bounds. */
class First<T> {
  readonly #limit: number
  readonly #order: Order<T>
  #items: T[] = []
  total = 0

  constructor(limit: number, order: Order<T>) {
    this.#limit = limit
    this.#order = order
  }

  add(item: T): void {
    this.total++
    this.#items.push(item)
    if (this.#items.length >= 2 * this.#limit + 100) this.#items = this.items()
  }

  items(): T[] {
    return this.#items.sort(this.#order).slice(0, this.#limit)
  }
}

/** Usage of the repositories of an owner: the records of repositories are the only index of them by owner. */
async function* repositoriesOf(tx: ReadTransaction, owner: number): AsyncGenerator<RepositoryUsage> {
  const owned = await repositories.list(tx, 'id', { prefix: [owner] })
  const ids = owned.map(({ id }) => id)
  yield* (await repositoryUsages.byIds(tx, ids)).values()
}
