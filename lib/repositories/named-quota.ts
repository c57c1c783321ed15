/** The ledger and plans of the quota engine, with the names of owners and repositories in the place of ids. */
import * as v from 'valibot'
import { accountByName, repositoryByName } from '../accounts/access.ts'
import { now } from '../clock.ts'

import { describeIssue, invalid, withLineNumber } from '../errors.ts'
import type { QuotaRule } from '../quota/evaluate.ts'
import type { QuotaEngine } from '../quota/index.ts'
import type { NewEntry } from '../quota/ledger.ts'
import type { Difference, Differences, QuotaPlan } from '../quota/plan.ts'
import type { ChangedOwner } from '../quota/reports.ts'
import { refuseControls } from '../quota/rules.ts'
import type { Page, Slice } from '../records/collection.ts'
import { paced } from '../records/pacing.ts'
import { accounts, type LedgerEntry, LedgerKind, repositories } from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'

const shortText = v.pipe(v.string(), v.minLength(1), v.maxLength(255))
const wholeNumber = v.pipe(v.number(), v.safeInteger(), v.minValue(0))

/** A ledger entry as its caller describes it, with names instead of ids. `size` is in bytes. */
export const LedgerItem = v.object({
  repository: v.optional(shortText),
  owner: v.optional(shortText),
  name: shortText,
  size: wholeNumber,
  on: v.optional(v.picklist(['issue', 'release'])),
  index: v.optional(wholeNumber),
  run: v.optional(wholeNumber),
  type: v.optional(shortText),
  version: v.optional(shortText),
})
export type LedgerItem = v.InferOutput<typeof LedgerItem>

/** `key` is the caller's own stable name for the resource, 255 bytes at most. */
export interface LedgerName {
  kind: LedgerKind
  key: string
}

export type LedgerOperation = (LedgerName & LedgerItem & { op: 'put' }) | (LedgerName & { op: 'delete' })

/** A ledger entry with the names of its owner and repository. */
export type NamedEntry = LedgerName & LedgerItem

export interface NamedLedger {
  get(name: LedgerName): Promise<NamedEntry | undefined>
  /** Saves the entry, replacing one with the same kind and key, so that the same request twice counts once. */
  put(entry: NamedEntry): Promise<{ replaced: boolean; entry: NamedEntry }>
  /** @returns whether the entry existed */
  delete(name: LedgerName): Promise<boolean>
  /** Applies all operations or none. @returns their number. @throws AllotError invalid with the line number, from 1 */
  batch(operations: readonly LedgerOperation[]): Promise<number>
}

export const createNamedLedger = (store: Store, { ledger }: QuotaEngine): NamedLedger => {
  const put = async (tx: WriteContext, entry: NamedEntry) => {
    checkEntry(entry)
    const record = await recordOf(tx, entry)
    const { replaced } = await ledger.put(tx, record)
    return { replaced, entry: await namedEntry(tx, record) }
  }
  const remove = async (tx: WriteContext, { kind, key }: LedgerName) => {
    refuseOwn({ kind, key })
    return ledger.remove(tx, kind, key)
  }
  return {
    get: ({ kind, key }) =>
      store.read(async (tx) => {
        const record = await ledger.get(tx, kind, key)
        return record && namedEntry(tx, record)
      }),
    put: (entry) => store.write((tx) => put(tx, entry)),
    delete: (name) => store.write((tx) => remove(tx, name)),
    batch: (operations) =>
      store.write(async (tx) => {
        for await (const [index, operation] of paced(operations.entries()))
          await withLineNumber<unknown>(index + 1, () =>
            operation.op === 'put' ? put(tx, operation) : remove(tx, operation),
          )
        return operations.length
      }),
  }
}

/** Prefix of the keys that the server itself uses, for files on its own disk. */
export const RESERVED_PREFIX = 'allot:'

/** @throws AllotError invalid, with the name of the member */
const checkEntry = (entry: NamedEntry) => {
  refuseOwn(entry)
  checkLedgerKey(entry.key)
  const { issues } = v.safeParse(LedgerItem, entry, { abortEarly: true })
  if (issues !== undefined) throw invalid(describeIssue(issues[0]))
}

export const checkLedgerKey = (key: string): void => {
  if (key === '' || Buffer.byteLength(key) > 255) throw invalid('key: must have 1 to 255 bytes')
  if (!key.isWellFormed()) throw invalid('key: is not valid Unicode text')
  refuseControls(key, 'key')
}

/** Checks kind and key only as far as needed for a lookup: an impossible key is simply not found. */
const refuseOwn = ({ kind, key }: LedgerName) => {
  if (!v.is(LedgerKind, kind)) throw invalid(`kind: expected one of ${LedgerKind.options.join(', ')}`)
  if (typeof key !== 'string') throw invalid('key: expected a string')
  if (key.startsWith(RESERVED_PREFIX))
    throw invalid(
      `key: keys that begin with ${RESERVED_PREFIX} are reserved for what the server itself counts`,
    )
}

const recordOf = async (tx: ReadTransaction, entry: NamedEntry): Promise<NewEntry> => {
  const { kind, key, name, size } = entry
  return {
    kind,
    key,
    ...(await placeOf(tx, entry)),
    name,
    size,
    on: kind === 'attachments' ? required(entry, 'on') : null,
    index: kind === 'attachments' ? (entry.index ?? null) : null,
    run: kind === 'artifacts' ? (entry.run ?? null) : null,
    type: kind === 'packages' ? required(entry, 'type') : null,
    version: kind === 'packages' ? required(entry, 'version') : null,
    createdAt: now(),
  }
}

const required = <M extends keyof LedgerItem>(entry: NamedEntry, member: M): NonNullable<LedgerItem[M]> => {
  const value = entry[member]
  if (value === undefined) throw invalid(`${member}: required for ${entry.kind}`)
  return value as NonNullable<LedgerItem[M]>
}

/** "Usage is counted against the owner of the repository that the resource belongs to." */
const placeOf = async (
  tx: ReadTransaction,
  { kind, repository: path, owner: ownerName }: NamedEntry,
): Promise<{ owner: number; repository: number | null }> => {
  if (path !== undefined) {
    const [owner, name, ...rest] = path.split('/')
    const repository =
      rest.length === 0 && owner && name ? await repositoryByName(tx, owner, name) : undefined
    if (repository === undefined) throw invalid(`repository: there is no repository ${path}`)
    return { owner: repository.owner, repository: repository.id }
  }
  if (kind !== 'packages' || ownerName === undefined)
    throw invalid(kind === 'packages' ? 'Repository or Owner is required' : 'Repository is required')
  const owner = await accountByName(tx, ownerName)
  if (owner === undefined) throw invalid(`owner: there is no user or organization ${ownerName}`)
  return { owner: owner.id, repository: null }
}

/** The entry with the present names of its owner and repository. */
const namedEntry = async (tx: ReadTransaction, entry: LedgerEntry): Promise<NamedEntry> => {
  const repository = entry.repository === null ? undefined : await repositories.get(tx, [entry.repository])
  const owner = await accounts.get(tx, [repository?.owner ?? entry.owner!])
  const place =
    repository === undefined
      ? { owner: owner?.name ?? '' }
      : { repository: `${owner?.name}/${repository.name}` }
  const { on, index, run, type, version } = entry
  const details = { on, index, run, type, version }
  const present = Object.fromEntries(Object.entries(details).filter(([, value]) => value !== null))
  return { kind: entry.kind, key: entry.key, ...place, name: entry.name, size: entry.size, ...present }
}

/** The wanted rules, groups and assignments, with owners by name. */
export interface NamedPlan extends Omit<QuotaPlan, 'assignments'> {
  /** Complete list of groups for each user or organization in it. */
  assignments?: Readonly<Record<string, readonly string[]>> | undefined
}

export interface NamedDifferences {
  rules: Difference<string, QuotaRule>[]
  groups: Difference<string, readonly string[]>[]
  assignments: Difference<string, readonly string[]>[]
}

export class NamedPlans {
  readonly #store: Store
  readonly #quota: QuotaEngine

  constructor(store: Store, quota: QuotaEngine) {
    this.#store = store
    this.#quota = quota
  }

  /**
   * Applies the plan in one transaction. Applying it again changes nothing.
   * @returns what it changed, or would change with `dryRun`
   * @throws AllotError invalid for unknown or repeated owners, rules and groups
   */
  async apply(plan: NamedPlan, { dryRun }: { dryRun?: boolean | undefined } = {}): Promise<NamedDifferences> {
    const { plans } = this.#quota
    if (dryRun)
      return this.#store.read(async (tx) =>
        withNames(tx, await plans.differences(tx, await withIds(tx, plan))),
      )
    const numbers = await plans.numbers(plan)
    return this.#store.write(async (tx) =>
      withNames(tx, await plans.apply(tx, await withIds(tx, plan), numbers)),
    )
  }

  /** Lists the owners for whom the plan would change whether they are over quota. Stores nothing. */
  simulate(
    plan: NamedPlan & { defaultGroups?: readonly string[] | undefined },
    slice: Slice,
  ): Promise<Page<ChangedOwner>> {
    return this.#store.read(async (tx) =>
      this.#quota.reports.simulate(tx, await withIds(tx, plan), slice, plan.defaultGroups),
    )
  }
}

const withIds = async (tx: ReadTransaction, plan: NamedPlan): Promise<QuotaPlan> => {
  const assignments = new Map<number, readonly string[]>()
  for (const [name, groups] of Object.entries(plan.assignments ?? {})) {
    const owner = await accountByName(tx, name)
    if (owner === undefined) throw invalid(`assignments: there is no user or organization named ${name}`)
    if (assignments.has(owner.id)) throw invalid(`assignments: ${owner.name} is named twice`)
    assignments.set(owner.id, groups)
  }
  return { ...plan, assignments }
}

const withNames = async (tx: ReadTransaction, differences: Differences): Promise<NamedDifferences> => {
  const owners = await accounts.getMany(
    tx,
    differences.assignments.map(({ key }) => [key]),
  )
  return {
    ...differences,
    assignments: differences.assignments.map((difference, index) => ({
      ...difference,
      key: owners[index]?.name ?? `#${difference.key}`,
    })),
  }
}
