import { setImmediate } from 'node:timers/promises'
import { compare, type Sum } from '../integers.ts'
import type { Page, Slice } from '../records/collection.ts'
import {
  assignments,
  ownerUsages,
  type RepositoryUsage,
  repositories,
  repositoryUsages,
} from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import {
  bindingLimit,
  bindingLimits,
  type LimitStatus,
  type QuotaGroup,
  type SubjectLimit,
} from './evaluate.ts'
import { applyPlan, type QuotaPlan } from './plan.ts'
import { groupResolver, type QuotaDefaults, readPolicy } from './status.ts'
import { noUsage, type Subject, subjects, type Usage, usedBy } from './subjects.ts'
import { addDelta, usageIn, usageOf } from './usage.ts'

/** An owner that is over a limit, or near it, with the subject and the rule that bind. */
export interface OwnerOverQuota extends SubjectLimit {
  owner: number
  over: boolean
  /** Bytes that count toward the subject. */
  used: Sum
}

interface OwnerWithGroups {
  readonly owner: number
  readonly usage: Usage
  readonly groups: readonly QuotaGroup[]
}

interface OverQuotaQuery {
  /** Undefined: any subject. */
  subject?: Subject | undefined
  /** Lists owners too that have at most this share of their limit left: 0 to 1. */
  within?: number | undefined
}

/** A subject for which a plan would change whether the owner is over quota. */
interface ChangedAnswer {
  subject: Subject
  /** Bytes that count toward the subject. */
  used: Sum
  before: Answer
  after: Answer
}

interface Answer {
  over: boolean
  /** The binding limit; undefined when no rule limits the subject. */
  binding: LimitStatus | undefined
}

/** A repository with all bytes that it and everything in it use. */
export interface RepositoryTotal {
  usage: RepositoryUsage
  used: Sum
}

export interface ChangedOwner {
  owner: number
  answers: ChangedAnswer[]
}

/** Reads the ids of all owners in ascending order. */
export type OwnerIds = (tx: ReadTransaction) => AsyncIterable<number>

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

  /** Sum of the usage of all owners. */
  totalUsage(): Promise<Usage> {
    return this.#store.read(async (tx) => {
      let total = noUsage
      for await (const { usage } of scanOwners(tx, this.#owners)) total = addDelta(total, usage)
      return total
    })
  }

  /** Every owner with its usage and the groups that apply to it, in ascending order of ids. */
  everyOwner(): Promise<OwnerWithGroups[]> {
    return this.#store.read(async (tx) => {
      const groupsFor = groupResolver(await readPolicy(tx, this.#defaults))
      const found: OwnerWithGroups[] = []
      for await (const { owner, usage, assigned } of scanOwners(tx, this.#owners))
        found.push({ owner, usage, groups: groupsFor(assigned) })
      return found
    })
  }

  /** Owners that are over quota, and those near it when the query asks for them: largest excess first. */
  overQuota(
    { subject, within = 0 }: OverQuotaQuery,
    { offset, limit }: Slice,
  ): Promise<Page<OwnerOverQuota>> {
    return this.#store.read(async (tx) => {
      const groupsFor = groupResolver(await readPolicy(tx, this.#defaults))
      const largest = new First(offset + limit, byExcess)
      const among = subject && [subject]
      for await (const { owner, usage, assigned } of scanOwners(tx, this.#owners)) {
        const limits = bindingLimits(groupsFor(assigned), usage, among)
        const binding = limits.find(({ limit, left }) => left <= Math.max(0, limit * within))
        if (binding === undefined) continue
        largest.add({ owner, over: binding.left <= 0, used: usedBy(binding.subject, usage), ...binding })
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
    for await (const usage of scanRepositories(tx, owner))
      largest.add({ usage, used: usedBy('size:all', usageOf(usage)) })
    return { items: largest.items().slice(offset), total: largest.total }
  }

  /**
   * Lists the owners for whom a plan would change whether they are over quota. Stores nothing.
   * @param defaultGroups default groups to use instead of the configured ones
   */
  async simulate(
    tx: ReadTransaction,
    plan: QuotaPlan,
    { offset, limit }: Slice,
    defaultGroups = this.#defaults.groups,
  ): Promise<Page<ChangedOwner>> {
    const before = await readPolicy(tx, this.#defaults)
    const after = { ...applyPlan(plan, before), defaults: { ...this.#defaults, groups: defaultGroups } }
    const groupsBefore = groupResolver(before)
    const groupsAfter = groupResolver(after)
    const items: ChangedOwner[] = []
    let total = 0
    for await (const { owner, usage, assigned } of scanOwners(tx, this.#owners)) {
      const planned = plan.assignments?.get(owner) ?? (plan.prune ? [] : assigned)
      const answers = changedAnswers(groupsBefore(assigned), groupsAfter(planned), usage)
      if (answers.length === 0) continue
      if (total++ >= offset && items.length < limit) items.push({ owner, answers })
    }
    return { items, total }
  }
}

const changedAnswers = (
  before: readonly QuotaGroup[],
  after: readonly QuotaGroup[],
  usage: Usage,
): ChangedAnswer[] =>
  subjects
    .map((subject) => ({
      subject,
      used: usedBy(subject, usage),
      before: answerOf(before, subject, usage),
      after: answerOf(after, subject, usage),
    }))
    .filter((answer) => answer.before.over !== answer.after.over)

const answerOf = (groups: readonly QuotaGroup[], subject: Subject, usage: Usage): Answer => {
  const binding = bindingLimit(groups, subject, usage)
  return { binding, over: binding !== undefined && binding.left <= 0 }
}

type Order<T> = (left: T, right: T) => number

const byExcess: Order<OwnerOverQuota> = (left, right) =>
  compare(left.left, right.left) || left.owner - right.owner

const bySize: Order<RepositoryTotal> = (left, right) =>
  compare(right.used, left.used) || left.usage.id - right.usage.id

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

interface ScannedOwner {
  owner: number
  usage: Usage
  /** Names of the groups that are assigned to the owner. */
  assigned: string[]
}

/** Owners or repositories that are read between two turns of the event loop. */
const YIELD_EVERY = 200

/**
 * Reads every owner in ascending order of ids. The cost is constant for each owner, however many repositories and ledger
 * entries the owner has, because usage is counted per owner.
 */
async function* scanOwners(tx: ReadTransaction, owners: OwnerIds): AsyncGenerator<ScannedOwner> {
  const usages = joinByOwner(ownerUsages.all(tx))
  const assigned = joinByOwner(assignments.all(tx))
  let count = 0
  try {
    for await (const owner of owners(tx)) {
      if (++count % YIELD_EVERY === 0) await setImmediate()
      const [usage] = await usages.of(owner)
      yield {
        owner,
        usage: usageIn(usage),
        assigned: (await assigned.of(owner)).map(({ group }) => group),
      }
    }
  } finally {
    await Promise.all([usages.end(), assigned.end()])
  }
}

/** @param owner undefined: the repositories of all owners */
async function* scanRepositories(
  tx: ReadTransaction,
  owner: number | undefined,
): AsyncGenerator<RepositoryUsage> {
  let count = 0
  for await (const usage of owner === undefined ? repositoryUsages.all(tx) : usagesOf(tx, owner)) {
    if (++count % YIELD_EVERY === 0) await setImmediate()
    yield usage
  }
}

async function* usagesOf(tx: ReadTransaction, owner: number): AsyncGenerator<RepositoryUsage> {
  const owned = await repositories.list(tx, 'id', { prefix: [owner] })
  const ids = owned.map(({ id }) => id)
  yield* (await repositoryUsages.byIds(tx, ids)).values()
}

/** Merge join: reads records that are ordered by owner, for owners that are asked for in ascending order. */
const joinByOwner = <R extends { owner: number }>(records: AsyncIterable<R>) => {
  const iterator = records[Symbol.asyncIterator]()
  let next: IteratorResult<R> | undefined
  return {
    async of(owner: number): Promise<R[]> {
      const found: R[] = []
      next ??= await iterator.next()
      while (!next.done && next.value.owner <= owner) {
        if (next.value.owner === owner) found.push(next.value)
        next = await iterator.next()
      }
      return found
    },
    end: () => iterator.return?.(),
  }
}
